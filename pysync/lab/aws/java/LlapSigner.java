package org.apache.hadoop.hive.llap.security;

/** Hive's compiler refers to it, and the module that it is in does not come with pyspark; DDL never calls it. */
public interface LlapSigner {
    /** Something to be signed. */
    interface Signable {
    }
}

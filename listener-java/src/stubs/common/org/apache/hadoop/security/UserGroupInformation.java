package org.apache.hadoop.security;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;

/** Stub. */
public abstract class UserGroupInformation {
    public static native UserGroupInformation getCurrentUser() throws IOException;

    public native String getShortUserName();

    public native <T> T doAs(PrivilegedExceptionAction<T> action) throws IOException, InterruptedException;
}

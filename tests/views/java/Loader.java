package pysync.lab;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;

/** Hive in a class loader of its own: Hive 3.1 casts the one that it is loaded by to a URLClassLoader. */
public final class Loader {
    private Loader() {
    }

    public static Object load(List<String> classPath, String name) throws Exception {
        URL[] urls = new URL[classPath.size()];
        for (int place = 0; place < urls.length; place++) {
            urls[place] = Path.of(classPath.get(place)).toUri().toURL();
        }
        URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
        return loader.loadClass(name).getConstructor().newInstance();
    }
}

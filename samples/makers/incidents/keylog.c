/* Write the keys of OpenSSL's connections to the file that SSLKEYLOGFILE names, for programs that do not.

   cc -shared -fPIC -o keylog.so keylog.c -ldl
   SSLKEYLOGFILE=keys.txt LD_PRELOAD=./keylog.so PROGRAM

   It needs a program that loads libssl (1.1.1 or newer) as a shared library; a wheel or a static binary has its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*keylog_callback)(const void *ssl, const char *line);

static void write_line(const void *ssl, const char *line)
{
    const char *path = getenv("SSLKEYLOGFILE");
    FILE *file = path ? fopen(path, "a") : NULL;
    (void)ssl;
    if (file) {
        fprintf(file, "%s\n", line);
        fclose(file);
    }
}

void *SSL_CTX_new(const void *method)
{
    void *(*original)(const void *) = (void *(*)(const void *))dlsym(RTLD_NEXT, "SSL_CTX_new");
    void (*set_callback)(void *, keylog_callback) =
        (void (*)(void *, keylog_callback))dlsym(RTLD_NEXT, "SSL_CTX_set_keylog_callback");
    void *context = original(method);
    if (context && set_callback)
        set_callback(context, write_line);
    return context;
}

# SPDX-License-Identifier: BSD-3-Clause
#
# gen_stub.awk: data/openshmem_api.txt -> a C library without function: each name only notes that it was called, in
# stub_called.  The tests of generics and overloads link it to see which C name a call reaches.

BEGIN {
    FS = " [|] "
    print "/* made by gen_stub.awk; do not edit */"
    print "#define SHMEM_IMPL_BUILD 1"
    print "#include <stdlib.h>"
    print "#include <pshmem.h>"
    print ""
    print "const char *stub_called;"
    print ""
}

/^C / {
    name = $2
    proto = $5
    at = index(proto, name "(")
    head = substr(proto, 1, at - 1)
    tail = substr(proto, at + length(name))
    if (name == "shmem_global_exit")
        body = "stub_called = \"" name "\"; exit(status);"
    else if (head == "void ")
        body = "stub_called = \"" name "\";"
    else
        body = "stub_called = \"" name "\"; return 0;"
    print proto " { " body " }"
    print head "p" name tail " __attribute__((alias(\"" name "\")));"
}

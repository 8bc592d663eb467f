# SPDX-License-Identifier: BSD-3-Clause
#
# gen_generic_test.awk: data/openshmem_api.txt -> calls of every type-generic name with every type of its typed names,
# without and (where the list has a ctx name) with a context.  The result is C11 and C++ alike; test_generic.h gives
# CALL, which checks the type of the result and the C name that was reached in the stub library.

function trim(s) { sub(/^ +/, "", s); sub(/ +$/, "", s); return s }

# declares one variable for each parameter, leaves their names in ARGS; keep_const = 0 drops const from pointers
function declare(params, type, keep_const,    a, n, i, d, v) {
    n = split(params, a, ",")
    ARGS = ""
    DECL = ""
    for (i = 1; i <= n; i++) {
        d = trim(a[i])
        gsub(/TYPE/, type, d)
        v = d
        sub(/^.*[ *]/, "", v)
        d = substr(d, 1, length(d) - length(v))
        if (!keep_const)
            sub(/^const /, "", d)
        if (d == "shmem_team_t ")
            DECL = DECL "shmem_team_t " v " = SHMEM_TEAM_WORLD; "
        else
            DECL = DECL d v " = 0; "
        ARGS = ARGS (i > 1 ? ", " : "") v
    }
}

function emit(generic, call, name, type, params, ret, ctx, keep_const,    r) {
    declare(params, type, keep_const)
    r = ret
    gsub(/TYPE/, type, r)
    r = trim(r)
    cases++
    print "static void case_" cases "(void)"
    print "{"
    print "    " DECL
    if (ctx)
        print "    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;"
    print "    " (r == "void" ? "CALL_VOID(" : "CALL(" r ", ") type ", \"shmem_" (ctx ? "ctx_" : "") "\", \"_" call \
          "\", \"" name "\", " generic "(" (ctx ? "ctx, " : "") ARGS "));"
    print "}"
}

BEGIN {
    FS = " [|] "
    print "/* made by gen_generic_test.awk; do not edit */"
    print "#include \"test_generic.h\""
    print ""
}

/^C / { c_name[$2] = $5 }
/^generic / && $5 ~ /TYPE/ { generic[++ngeneric] = $2; shape[$2] = $5 }

END {
    ntypes = split("float double longdouble char schar short int long longlong uchar ushort uint ulong ulonglong " \
                   "int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff complexd complexf", names, " ")
    split("float,double,long double,char,signed char,short,int,long,long long,unsigned char,unsigned short," \
          "unsigned int,unsigned long,unsigned long long,int8_t,int16_t,int32_t,int64_t,uint8_t,uint16_t,uint32_t," \
          "uint64_t,size_t,ptrdiff_t,complexd,complexf", types, ",")
    for (g = 1; g <= ngeneric; g++) {
        name = generic[g]
        call = substr(name, 7)
        proto = shape[name]
        pos = index(proto, name "(")
        ret = substr(proto, 1, pos - 1)
        params = substr(proto, pos + length(name) + 1)
        sub(/\)$/, "", params)
        for (t = 1; t <= ntypes; t++) {
            if (!(("shmem_" names[t] "_" call) in c_name))
                continue
            for (c = 0; c <= (params ~ /^const TYPE/); c++) {
                emit(name, call, names[t], types[t], params, ret, 0, !c)
                if (("shmem_ctx_" names[t] "_" call) in c_name)
                    emit(name, call, names[t], types[t], params, ret, 1, !c)
            }
        }
    }
    print ""
    print "int main(void)"
    print "{"
    for (i = 1; i <= cases; i++)
        print "    case_" i "();"
    print "    return finish(" cases ");"
    print "}"
}

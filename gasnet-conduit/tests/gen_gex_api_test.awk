# SPDX-License-Identifier: BSD-3-Clause
# From the list of GASNet-EX's names (data/gex_api.txt): a C program that takes the address of every function, with 0 to
# 16 arguments where the name has an M for the number, and needs what is in capitals, and the calls without a number, to
# be defined.
function defined(name) {
	printf "#ifndef %s\n#error %s is not defined\n#endif\n", name, name
}
BEGIN {
	print "/* made by gen_gex_api_test.awk */\n#include <gasnetex.h>\n#include <gasnet_coll.h>"
	print "#include <gasnet_mk.h>\n#include <gasnet_ratomic.h>\n#include <gasnet_vis.h>\n#include <stdio.h>"
}
/^#/ || !NF { next }
/^G/ {
	constants++
	defined($1)
	next
}
/(Short|Medium|Long)M(_v2)?$/ {
	end = $1 ~ /_v2$/ ? "_v2" : ""
	name = substr($1, 1, length($1) - length("M" end))
	defined(name end)
	for (i = 0; i <= 16; i++)
		functions[++count] = name i end
	next
}
{ functions[++count] = $1 }
END {
	print "typedef void (*any)(void);\nstatic const struct { const char *name; any fn; } functions[] = {"
	for (i = 1; i <= count; i++)
		printf "\t{\"%s\", (any)%s},\n", functions[i], functions[i]
	print "};\nint main(void)\n{\n\tunsigned missing = 0;"
	print "\tfor (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)\n\t\tmissing += !functions[i].fn;"
	printf "\tprintf(\"%%u functions, %d constants\\n\",\n", constants
	print "\t       (unsigned)(sizeof functions / sizeof *functions));"
	print "\treturn missing != 0;\n}"
}

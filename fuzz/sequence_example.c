/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_sequence_example with a context and feature lists of every kind, none of them required.
 */
#include "proto_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char example_context[] =
    "{a:{kind:VarLen,dtype:int64},i:{kind:FixedLen,shape:[],dtype:int64,default:0},"
    "s:{kind:FixedLen,shape:[],dtype:string,default:x}}";
static const char example_lists[] =
    "{b:{kind:VarLen,dtype:int32},f:{kind:FixedLenSequence,shape:[2],dtype:float32,"
    "allow_missing:true},t:{kind:FixedLenSequence,shape:[],dtype:string,allow_missing:true},"
    "n:{kind:FixedLenSequence,shape:[],dtype:int64,allow_missing:true},"
    "w:{kind:VarLen,dtype:string},"
    "r:{kind:Ragged,value_key:v,dtype:int64,partitions:[{type:RowLengths,key:p},"
    "{type:UniformRowLength,length:2}]},"
    "h:{kind:Ragged,value_key:u,dtype:string,partitions:[{type:UniformRowLength,length:2},"
    "{type:RowSplits,key:p}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static levada_proto x;
    static levada_value *context_spec, *list_spec;
    levada_context context = { .struct_size = sizeof context };

    if (!list_spec) {
        context_spec = fuzz_spec(example_context);
        list_spec = fuzz_spec(example_lists);
        fuzz_require(levada_proto_open(&x, context_spec, list_spec, true, &context, NULL) ==
                     LEVADA_OK);
    }
    if (size <= 1 << 16) fuzz_check(&x, data, size);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_example with features of every kind, none of them required.
 */
#include "proto_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char example_spec[] =
    "{a:{kind:VarLen,dtype:int64},b:{kind:VarLen,dtype:int32},f:{kind:VarLen,dtype:float32},"
    "s:{kind:VarLen,dtype:string},i:{kind:FixedLen,shape:[],dtype:int64,default:0},"
    "j:{kind:FixedLen,shape:[2],dtype:int16,default:[0,0]},"
    "g:{kind:FixedLen,shape:[],dtype:float32,default:0},"
    "t:{kind:FixedLen,shape:[],dtype:string,default:\"\"},"
    "q:{kind:FixedLenSequence,shape:[2],dtype:uint8,allow_missing:true},"
    "r:{kind:Ragged,value_key:v,dtype:int64,partitions:[{type:RowSplits,key:p},"
    "{type:ValueRowIds,key:o},{type:UniformRowLength,length:2}]},"
    "h:{kind:Ragged,value_key:w,dtype:string,partitions:[{type:RowStarts,key:p}]},"
    "l:{kind:Ragged,value_key:v,dtype:int64,partitions:[{type:RowLimits,key:o},"
    "{type:RowLengths,key:p}]},"
    "k:{kind:Sparse,index_key:[x,y],value_key:z,size:[9,9],dtype:float16}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static levada_proto x;
    static levada_value *spec;
    levada_context context = { .struct_size = sizeof context };

    if (!spec) {
        spec = fuzz_spec(example_spec);
        fuzz_require(levada_proto_open(&x, spec, NULL, false, &context, NULL) == LEVADA_OK);
    }
    if (size <= 1 << 16) fuzz_check(&x, data, size);
    return 0;
}

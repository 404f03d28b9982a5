//! The messages and fields of `onnx.proto` that models need.

use prost::Message;

/// Element types.
pub(crate) const FLOAT: i32 = 1;
pub(crate) const INT32: i32 = 6;
pub(crate) const INT64: i32 = 7;
pub(crate) const DOUBLE: i32 = 11;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OnnxModel {
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub nodes: Vec<Operator>,
    #[prost(message, repeated, tag = "5")]
    pub constants: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub inputs: Vec<Input>,
    #[prost(message, repeated, tag = "12")]
    pub outputs: Vec<Input>,
    /// `sparse_initializer`, only to be refused.
    #[prost(bytes = "vec", repeated, tag = "15")]
    pub sparse: Vec<Vec<u8>>,
}

/// `ValueInfoProto`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Input {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub holds: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Type {
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorType {
    #[prost(int32, tag = "1")]
    pub element: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShape>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorShape {
    #[prost(message, repeated, tag = "1")]
    pub sizes: Vec<Size>,
}

/// A size that is not fixed is 0.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Size {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub sizes: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub element: i32,
    #[prost(float, repeated, tag = "4")]
    pub floats: Vec<f32>,
    /// `int32_data`.
    #[prost(int32, repeated, tag = "5")]
    pub whole: Vec<i32>,
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub texts: Vec<Vec<u8>>,
    #[prost(int64, repeated, tag = "7")]
    pub ints: Vec<i64>,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub raw: Vec<u8>,
    /// `double_data`.
    #[prost(double, repeated, tag = "10")]
    pub doubles: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Operator {
    #[prost(string, repeated, tag = "1")]
    pub inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub outputs: Vec<String>,
    #[prost(string, tag = "4")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub attributes: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub domain: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(float, tag = "2")]
    pub float: f32,
    #[prost(int64, tag = "3")]
    pub int: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub text: Vec<u8>,
    #[prost(message, optional, tag = "5")]
    pub tensor: Option<Tensor>,
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub texts: Vec<Vec<u8>>,
    /// `ref_attr_name`: the value is that of a function's attribute, only to be refused.
    #[prost(string, tag = "21")]
    pub refers: String,
}

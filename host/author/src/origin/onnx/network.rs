//! Reads linear models and networks of ONNX, as skl2onnx, PyTorch and Keras write them: follows the columns of the
//! features through each operator to the output.

use std::collections::HashMap;

use tables::{
    data::{Column, Kind},
    network::{RELU, SIGMOID, TANH},
};

use super::{
    columns::width,
    constants::{Constant, constants, keeps_rows},
    known::uninterpreted,
    labels,
    proto::{Attribute, DOUBLE, FLOAT, Graph, INT32, INT64, Input, Operator},
    symbol::{Layers, Makes, Symbol, bounded, filled, moved},
};
use crate::{
    network::{LAYERS, NeuralNetwork, WIDEST},
    origin::same_names,
};

const NOTHING: &str = "it computes nothing from its input";

/// # Errors
/// The operator that no model has, or what its columns are instead of the features.
pub(crate) fn read(graph: &Graph, names: &[&str]) -> Result<NeuralNetwork, String> {
    let mut reader = NetworkReader { constants: constants(graph), symbols: inputs(graph, names)? };
    let linear = graph.nodes.iter().filter(|node| node.name.starts_with("Linear")).count();
    if linear > 1 {
        return Err("it has several linear models, as Bagging, Voting and CalibratedClassifierCV of scikit-learn do. \
                    Export one; a calibration belongs under [score.calibration]"
            .into());
    }
    for node in &graph.nodes {
        reader.step(node);
    }
    // A classifier has its label, a whole number or a text, before its scores.
    let is_label = |output: &&Input| matches!(output.element(), Some(element) if ![FLOAT, DOUBLE].contains(&element));
    let mut found: Vec<NeuralNetwork> = Vec::new();
    for output in graph.outputs.iter().filter(|output| !is_label(output)) {
        found.push(match reader.symbols.get(output.name.as_str()) {
            Some(Symbol::Layers(layers)) => checked(layers.clone().network()?)?,
            Some(Symbol::Rest(of)) => match reader.symbols.get(of.as_str()).and_then(rest) {
                Some(layers) => checked(layers.network()?)?,
                None => return Err(NOTHING.to_owned()),
            },
            Some(Symbol::Other(why)) => return Err(why.clone()),
            _ => return Err(NOTHING.to_owned()),
        });
    }
    let mut network = found.pop().ok_or(NOTHING)?;
    if found.iter().any(|other| *other != network) {
        return Err(
            "it has several outputs of figures: export only the one that is the margin or the probability".into()
        );
    }
    network.predicts.of_class(labels::second(graph)?);
    Ok(network)
}

/// 1 minus a probability.
fn rest(symbol: &Symbol) -> Option<Layers> {
    let Symbol::Layers(layers) = symbol else { return None };
    let mut layers = layers.clone();
    let last = layers.layers.last_mut()?;
    last.weights.iter_mut().flatten().chain(&mut last.biases).for_each(|number| *number = -*number);
    (layers.makes == Makes::Results).then_some(layers)
}

fn checked(network: NeuralNetwork) -> Result<NeuralNetwork, String> {
    let widest = network.layers.iter().map(|layer| layer.biases.len()).fold(network.columns.len(), usize::max);
    if widest > WIDEST || network.layers.len() > LAYERS {
        return Err(format!(
            "it has {} layers of up to {widest} units, and may have {LAYERS} of {WIDEST}",
            network.layers.len()
        ));
    }
    let weights = network.layers.iter().flat_map(|layer| layer.weights.iter().flatten().chain(&layer.biases));
    if weights
        .chain(network.columns.iter().flat_map(|column| [&column.factor, &column.offset]))
        .all(|one| one.is_finite())
    {
        return Ok(network);
    }
    Err("one of its weights is not a finite number".into())
}

/// The columns of each input.
fn inputs<'a>(graph: &'a Graph, names: &[&str]) -> Result<HashMap<&'a str, Symbol>, String> {
    // Older files list their constants as inputs too.
    let constant = |name: &String| graph.constants.iter().any(|constant| constant.name == *name);
    let inputs: Vec<_> = graph.inputs.iter().filter(|input| !constant(&input.name)).collect();
    let of = |columns: Vec<Column>, input: &Input| {
        let element = input.element();
        // Such figures have no fraction at the origin.
        if let Some(INT32 | INT64) = element {
            return Symbol::Whole(columns);
        }
        if element.is_some_and(|element| element != FLOAT) {
            return Symbol::Other(format!(
                "its input `{}` has double precision or no figures, and its weights have single: export with \
                 FloatTensorType",
                input.name
            ));
        }
        Symbol::Columns(columns)
    };
    if let [input] = inputs[..]
        && names.len() != 1
    {
        let columns = width(input)?;
        if columns != names.len() {
            return Err(format!(
                "its input `{}` has {columns} columns, and {} features are declared. Declare the features of the \
                 training, in its order, as `assay features table` writes them",
                input.name,
                names.len()
            ));
        }
        let symbol = of((0..columns).map(NeuralNetwork::figure).collect(), input);
        return Ok(HashMap::from([(input.name.as_str(), symbol)]));
    }
    if let Some(wide) = inputs.iter().find(|input| width(input).is_ok_and(|columns| columns != 1)) {
        return Err(format!(
            "its input `{}` has several columns beside other inputs: export one input of all",
            wide.name
        ));
    }
    if names.len() > 1 {
        same_names(&inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>(), names)?;
    }
    let each = inputs.iter().enumerate();
    Ok(each.map(|(at, input)| (input.name.as_str(), of(vec![NeuralNetwork::figure(at)], input))).collect())
}

struct NetworkReader<'a> {
    constants: HashMap<&'a str, Constant>,
    symbols: HashMap<&'a str, Symbol>,
}

impl<'a> NetworkReader<'a> {
    /// Follows the inputs of an operator to its outputs.
    fn step(&mut self, node: &'a Operator) {
        let known: Vec<&Symbol> = node.inputs.iter().filter_map(|input| self.symbols.get(input.as_str())).collect();
        let symbol = match known.iter().find(|symbol| matches!(symbol, Symbol::Other(_))) {
            Some(other) => (*other).clone(),
            None if known.is_empty() => return,
            None => match uninterpreted(node) {
                Some(why) => Symbol::Other(why),
                None => self.made(node).unwrap_or_else(|| Symbol::Other(refused(node))),
            },
        };
        // A classifier has its label first. Other operators have further outputs for training only.
        let own = usize::from(node.name == "LinearClassifier");
        for (at, output) in node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            let symbol = if at == own || matches!(symbol, Symbol::Other(_)) {
                symbol.clone()
            } else {
                Symbol::Other(format!("`{output}` is no figure of its operator {}", node.name))
            };
            self.symbols.insert(output, symbol);
        }
    }

    fn symbol(&self, node: &Operator, at: usize) -> Option<&Symbol> {
        self.symbols.get(node.inputs.get(at)?.as_str())
    }

    fn constant(&self, node: &Operator, at: usize) -> Option<&Constant> {
        self.constants.get(node.inputs.get(at)?.as_str())
    }

    /// What an operator makes; `None` if no model has it.
    fn made(&self, node: &Operator) -> Option<Symbol> {
        let first = self.symbol(node, 0);
        match node.name.as_str() {
            "Identity" | "Flatten" | "ZipMap" => first.cloned(),
            // Its third input can say that it is for training.
            "Dropout" => first.filter(|_| node.inputs.iter().skip(2).all(String::is_empty)).cloned(),
            "Reshape" => first.filter(|symbol| keeps_rows(&self.constants, node, width_of(symbol))).cloned(),
            "Cast" => self.cast(node),
            "Normalizer" => match first? {
                Symbol::Layers(layers) if layers.makes == Makes::Probabilities => first.cloned(),
                _ => None,
            },
            "Imputer" => self.imputed(node),
            "Scaler" => {
                let columns = columns(first?)?;
                let (offsets, factors) = (each(node, "offset", columns.len())?, each(node, "scale", columns.len())?);
                let offsets: Vec<f64> = offsets.iter().zip(&factors).map(|(offset, factor)| -offset * factor).collect();
                affine(first?, &factors, &offsets)
            }
            "Mul" | "Div" | "Add" | "Sub" => self.arithmetic(node),
            "BatchNormalization" => self.normalized(node),
            "Clip" => {
                let (low, high) = (self.bound(node, 1, "min", f64::MIN)?, self.bound(node, 2, "max", f64::MAX)?);
                // Runtimes differ in what bounds in the wrong order mean.
                let columns = columns(first?).filter(|_| low <= high)?;
                Some(Symbol::Columns(bounded(columns, low, high)?))
            }
            "OneHotEncoder" => one_hot(node, first?),
            "Concat" => self.joined(node),
            "Gather" | "ArrayFeatureExtractor" => self.chosen(node),
            "MatMul" => {
                let weights = self.constant(node, 1)?.units(false)?;
                let biases = vec![0.0; weights.len()];
                Some(Symbol::Layers(layers(first?)?.with(weights, biases)?))
            }
            "Gemm" => self.gemm(node),
            "Relu" => Some(Symbol::Layers(layers(first?)?.activated(RELU)?)),
            "Sigmoid" => Some(Symbol::Layers(layers(first?)?.activated(SIGMOID)?)),
            "Tanh" => Some(Symbol::Layers(layers(first?)?.activated(TANH)?)),
            "Softmax" => Some(Symbol::Layers(layers(first?)?.softmax()?)),
            "LinearClassifier" => classifier(node, first?),
            "LinearRegressor" => {
                let width = columns(first?)?.len();
                let weights = floats(node, "coefficients");
                let plain = matches!(text(node, "post_transform").as_str(), "" | "NONE");
                let biases = if floats(node, "intercepts").is_empty() { vec![0.0] } else { floats(node, "intercepts") };
                let mut layers = layers(first?)?.with(vec![weights], biases).filter(|_| plain && width > 0)?;
                layers.makes = Makes::Value("it is a LinearRegressor, which does not say what it predicts");
                Some(Symbol::Layers(layers))
            }
            _ => None,
        }
    }

    /// A bound of `Clip`: an input, or an attribute up to opset 10. `None` if it is no constant.
    fn bound(&self, node: &Operator, at: usize, name: &str, absent: f64) -> Option<f64> {
        match (node.inputs.get(at).filter(|input| !input.is_empty()), attribute(node, name)) {
            (Some(_), None) => self.constant(node, at)?.one(),
            (None, Some(attribute)) => Some(f64::from(attribute.float)),
            (None, None) => Some(absent),
            (Some(_), Some(_)) => None,
        }
    }

    fn cast(&self, node: &Operator) -> Option<Symbol> {
        const WHOLE: [i32; 2] = [INT32, INT64];
        let to = i32::try_from(attribute(node, "to")?.int).ok()?;
        match self.symbol(node, 0)? {
            Symbol::Columns(columns) if WHOLE.contains(&to) => Some(Symbol::Whole(columns.clone())),
            Symbol::Whole(columns) if WHOLE.contains(&to) => Some(Symbol::Whole(columns.clone())),
            Symbol::Whole(_) => None,
            other if to == FLOAT => Some(other.clone()),
            _ => None,
        }
    }

    fn imputed(&self, node: &Operator) -> Option<Symbol> {
        let columns = columns(self.symbol(node, 0)?)?;
        // Without this attribute, an imputer of ONNX replaces zeros.
        let replaces_absent = attribute(node, "replaced_value_float").is_some_and(|replaced| replaced.float.is_nan());
        let fills = each(node, "imputed_value_floats", columns.len()).filter(|_| replaces_absent)?;
        Some(Symbol::Columns(filled(columns, &fills)?))
    }

    fn arithmetic(&self, node: &Operator) -> Option<Symbol> {
        let (symbol, constant, is_first) = match (self.symbol(node, 0), self.constant(node, 1)) {
            (Some(symbol), Some(constant)) => (symbol, constant, true),
            _ => (self.symbol(node, 1)?, self.constant(node, 0)?, false),
        };
        if let (Symbol::Layers(layers), "Sub", false, Some(1.0)) = (symbol, &*node.name, is_first, constant.one())
            && layers.is_probability()
        {
            return node.inputs.get(1).cloned().map(Symbol::Rest);
        }
        let width = match symbol {
            Symbol::Layers(layers) => layers.width(),
            _ => columns(symbol)?.len(),
        };
        let numbers = constant.each(width)?;
        let (ones, zeros) = (vec![1.0; width], vec![0.0; width]);
        let turned = |numbers: &[f64]| numbers.iter().map(|number| -number).collect::<Vec<_>>();
        match (node.name.as_str(), is_first) {
            ("Mul", _) => affine(symbol, &numbers, &zeros),
            ("Div", true) => affine(symbol, &numbers.iter().map(|number| 1.0 / number).collect::<Vec<_>>(), &zeros),
            ("Add", _) => affine(symbol, &ones, &numbers),
            ("Sub", true) => affine(symbol, &ones, &turned(&numbers)),
            ("Sub", false) => affine(symbol, &turned(&ones), &numbers),
            _ => None,
        }
    }

    fn normalized(&self, node: &Operator) -> Option<Symbol> {
        let of = |at: usize| self.constant(node, at).map(|constant| constant.numbers.as_slice());
        let (scales, offsets, means, variances) = (of(1)?, of(2)?, of(3)?, of(4)?);
        let width = width_of(self.symbol(node, 0)?);
        if [scales, offsets, means, variances].iter().any(|numbers| numbers.len() != width) {
            return None;
        }
        let epsilon = attribute(node, "epsilon").map_or(1e-5, |epsilon| f64::from(epsilon.float));
        let factors: Vec<f64> =
            scales.iter().zip(variances).map(|(scale, variance)| scale / (variance + epsilon).sqrt()).collect();
        let offsets: Vec<f64> =
            offsets.iter().zip(means).zip(&factors).map(|((offset, mean), factor)| offset - mean * factor).collect();
        affine(self.symbol(node, 0)?, &factors, &offsets)
    }

    fn joined(&self, node: &Operator) -> Option<Symbol> {
        if let (Some(Symbol::Rest(rest)), Some(Symbol::Layers(layers)), [_, second]) =
            (self.symbol(node, 0), self.symbol(node, 1), node.inputs.as_slice())
        {
            return (rest == second).then(|| probabilities(layers)).flatten();
        }
        let parts = (0..node.inputs.len()).map(|at| columns(self.symbol(node, at)?));
        let joined = parts.collect::<Option<Vec<_>>>()?.concat();
        // The categories of an encoder are a third dimension.
        let is_third = attribute(node, "axis")?.int == 2;
        let fits = !is_third || joined.iter().all(|column| column.kind == Kind::Equal);
        fits.then_some(Symbol::Columns(joined))
    }

    fn chosen(&self, node: &Operator) -> Option<Symbol> {
        let axis = attribute(node, "axis").map_or(0, |axis| axis.int);
        if node.name == "Gather" && !matches!(axis, 1 | -1) {
            return None;
        }
        let constant = self.constant(node, 1)?;
        let symbol = self.symbol(node, 0)?;
        let places = constant.places(width_of(symbol), node.name == "Gather")?;
        // A single place without a list takes away the dimension of the columns, and rows of several places add one.
        let is_last = matches!(symbol, Symbol::Layers(_));
        if !(constant.sizes.len() == 1 || is_last && constant.sizes.is_empty() || node.name != "Gather") {
            return None;
        }
        match symbol {
            Symbol::Columns(columns) => Some(Symbol::Columns(picked(columns, &places)?)),
            Symbol::Whole(columns) => Some(Symbol::Whole(picked(columns, &places)?)),
            Symbol::Layers(layers) if layers.makes == Makes::Probabilities && places == [1] => {
                Some(Symbol::Layers(Layers { makes: Makes::Probability, ..layers.clone() }))
            }
            _ => None,
        }
    }

    fn gemm(&self, node: &Operator) -> Option<Symbol> {
        let number = |name| attribute(node, name).map_or(1.0, |number| f64::from(number.float));
        let flag = |name| attribute(node, name).is_some_and(|flag| flag.int != 0);
        let mut weights = self.constant(node, 1).filter(|_| !flag("transA"))?.units(flag("transB"))?;
        weights.iter_mut().flatten().for_each(|weight| *weight *= number("alpha"));
        let biases = match node.inputs.get(2).filter(|name| !name.is_empty()) {
            Some(_) => self.constant(node, 2)?.each(weights.len())?,
            None => vec![0.0; weights.len()],
        };
        let biases = biases.into_iter().map(|bias| bias * number("beta")).collect();
        Some(Symbol::Layers(layers(self.symbol(node, 0)?)?.with(weights, biases)?))
    }
}

/// The network so far, or one without a layer.
fn layers(symbol: &Symbol) -> Option<Layers> {
    match symbol {
        Symbol::Columns(columns) => {
            Some(Layers { columns: columns.clone(), layers: Vec::new(), makes: Makes::Results })
        }
        Symbol::Layers(layers) => Some(layers.clone()),
        _ => None,
    }
}

/// The columns of a tensor.
fn width_of(symbol: &Symbol) -> usize {
    match symbol {
        Symbol::Columns(columns) | Symbol::Whole(columns) => columns.len(),
        // Both classes, though one sum is kept.
        Symbol::Layers(Layers { makes: Makes::Probabilities, .. }) => 2,
        Symbol::Layers(layers) => layers.width(),
        Symbol::Rest(_) | Symbol::Other(_) => 1,
    }
}

fn columns(symbol: &Symbol) -> Option<&[Column]> {
    if let Symbol::Columns(columns) = symbol { Some(columns) } else { None }
}

fn affine(symbol: &Symbol, factors: &[f64], offsets: &[f64]) -> Option<Symbol> {
    match symbol {
        Symbol::Columns(columns) => Some(Symbol::Columns(moved(columns, factors, offsets)?)),
        Symbol::Layers(layers) => Some(Symbol::Layers(layers.clone().moved(factors, offsets)?)),
        _ => None,
    }
}

fn picked(columns: &[Column], places: &[usize]) -> Option<Vec<Column>> {
    places.iter().map(|place| columns.get(*place).copied()).collect()
}

fn probabilities(layers: &Layers) -> Option<Symbol> {
    let mut layers = layers.clone();
    layers.layers.last_mut().filter(|last| last.activation == SIGMOID)?.activation = tables::network::PLAIN;
    layers.makes = Makes::Probabilities;
    Some(Symbol::Layers(layers))
}

/// A column for each category. One that the training did not have must be none of them.
fn one_hot(node: &Operator, symbol: &Symbol) -> Option<Symbol> {
    let (Symbol::Columns(columns) | Symbol::Whole(columns)) = symbol else { return None };
    let [column] = columns.as_slice() else { return None };
    let categories = &attribute(node, "cats_int64s")?.ints;
    let is_free = column.low == f64::NEG_INFINITY && column.high == f64::INFINITY;
    let plain = column.kind == Kind::Number && column.factor == 1.0 && column.offset == 0.0 && is_free;
    let keeps_unknown = attribute(node, "zeros").is_none_or(|zeros| zeros.int == 1);
    let mut distinct = categories.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if !plain || !keeps_unknown || categories.is_empty() || distinct.len() < categories.len() {
        return None;
    }
    let of = |category: &i64| Column { kind: Kind::Equal, offset: *category as f64, ..*column };
    Some(Symbol::Columns(categories.iter().map(of).collect()))
}

fn classifier(node: &Operator, symbol: &Symbol) -> Option<Symbol> {
    let labels = ["classlabels_ints", "classlabels_strings"].map(|name| attribute(node, name));
    if labels.into_iter().flatten().all(|labels| labels.ints.is_empty() && labels.texts.is_empty()) {
        return None;
    }
    let width = layers(symbol)?.width();
    let weights: Vec<Vec<f64>> = floats(node, "coefficients").chunks(width.max(1)).map(<[f64]>::to_vec).collect();
    let mut biases = floats(node, "intercepts");
    if biases.is_empty() {
        biases = vec![0.0; weights.len()];
    }
    let opposite = |[zero, one]: &[Vec<f64>; 2]| zero.iter().zip(one).all(|(zero, one)| *zero == -one);
    let transform = text(node, "post_transform");
    match <[Vec<f64>; 2]>::try_from(weights) {
        Ok(both) if transform == "SOFTMAX" => {
            Some(Symbol::Layers(layers(symbol)?.with(both.to_vec(), biases)?.softmax()?))
        }
        // The scores of both classes are opposite, and each is the log-odds of its class.
        Ok(both) if opposite(&both) && biases.first().zip(biases.get(1)).is_some_and(|(zero, one)| *zero == -one) => {
            let [_, weights] = both;
            let mut layers = layers(symbol)?.with(vec![weights], biases.get(1..)?.to_vec())?;
            layers.makes = match transform.as_str() {
                "LOGISTIC" => Makes::Probabilities,
                "" | "NONE" => Makes::Value("it is a LinearClassifier without LOGISTIC after its sum"),
                _ => return None,
            };
            Some(Symbol::Layers(layers))
        }
        _ => None,
    }
}

fn attribute<'a>(node: &'a Operator, name: &str) -> Option<&'a Attribute> {
    node.attributes.iter().find(|attribute| attribute.name == name)
}

fn floats(node: &Operator, name: &str) -> Vec<f64> {
    attribute(node, name).map_or_else(Vec::new, |list| list.floats.iter().copied().map(f64::from).collect())
}

/// A number for each column; a list of one is for all.
fn each(node: &Operator, name: &str, width: usize) -> Option<Vec<f64>> {
    let list = floats(node, name);
    Constant { sizes: Vec::new(), numbers: list }.each(width)
}

fn text(node: &Operator, name: &str) -> String {
    String::from_utf8_lossy(attribute(node, name).map_or(b"" as &[u8], |text| &text.text)).into_owned()
}

/// Why no model has an operator, and what to do.
fn refused(node: &Operator) -> String {
    let has_texts = attribute(node, "cats_strings").is_some();
    let advice = match node.name.as_str() {
        "OneHotEncoder" if has_texts => "its categories are texts, and features are numbers: encode numbers",
        "OneHotEncoder" => {
            "each encoder must have one column that nothing changed before, and take what it does not know as no \
             category: fit it with handle_unknown=\"ignore\""
        }
        "LinearClassifier" => "a score needs two classes, with opposite weights",
        "SVMClassifier" | "SVMRegressor" => "a support vector machine cannot be packed: train a linear model or trees",
        "LeakyRelu" | "Elu" | "Selu" | "Gelu" | "HardSigmoid" | "Erf" | "Softplus" => {
            "train with Relu, Sigmoid or Tanh"
        }
        "Softmax" => "a score needs two classes, or one output with Sigmoid",
        "Cast" => "export with figures of single precision, and categories as whole numbers",
        "Pow" | "ReduceProd" | "Log" | "Sqrt" => {
            "write powers, products and logarithms as expressions of features in model.toml, and train on those"
        }
        "Scaler" | "Mul" | "Add" | "Div" | "Sub" | "BatchNormalization" => {
            "its numbers must be constants, one for each column or unit, before a layer or after its sums"
        }
        _ => "a linear model or network has scalers, imputers, one-hot encoders, and layers with Relu, Sigmoid or Tanh",
    };
    format!("it has the operator {} where no model can have it: {advice}", node.name)
}

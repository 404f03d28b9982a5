//! The imports of a component. The host gives a model nothing, so one with an import is refused.

use wasmtime::{
    Engine,
    component::{Component, types::ComponentItem},
};

/// The imports of `component`, except interfaces that only contain types.
pub(crate) fn imports(component: &Component, engine: &Engine) -> Vec<String> {
    let needed = |item: &ComponentItem| match item {
        ComponentItem::Type(_) => false,
        ComponentItem::ComponentInstance(instance) => {
            !instance.exports(engine).all(|(_, item)| matches!(item.ty, ComponentItem::Type(_)))
        }
        _ => true,
    };
    let ty = component.component_type();
    ty.imports(engine).filter(|(_, import)| needed(&import.ty)).map(|(name, _)| name.to_owned()).collect()
}

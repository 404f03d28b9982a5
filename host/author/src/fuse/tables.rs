//! Where the tables of the modules begin in the one table. The largest begins at 0: what its module takes for pointers
//! to functions are places in it.

use wasmparser::{Instance, Parser, Payload};

use super::text;

/// The place of each table, in the order in which instances define them, and the size of the one table.
pub(crate) struct Tables {
    pub places: Vec<u32>,
    pub size: u64,
}

pub(crate) fn plan(component: &[u8]) -> Result<Tables, String> {
    let sizes = sizes(component)?;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let first = sizes.iter().position(|size| *size == largest);
    let mut size = largest;
    let mut places = Vec::new();
    for (index, own) in sizes.into_iter().enumerate() {
        if Some(index) == first {
            places.push(0);
        } else {
            places.push(u32::try_from(size).map_err(text)?);
            size = size.saturating_add(own);
        }
    }
    Ok(Tables { places, size })
}

/// The sizes of the tables that the instances define.
fn sizes(component: &[u8]) -> Result<Vec<u64>, String> {
    let (mut modules, mut sizes, mut depth): (Vec<Vec<u64>>, _, _) = (Vec::new(), Vec::new(), 0_usize);
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(text)? {
            Payload::ModuleSection { .. } => {
                if depth == 0 {
                    modules.push(Vec::new());
                }
                depth += 1;
            }
            Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::TableSection(section) if depth == 1 => {
                for table in section {
                    let table = table.map_err(text)?;
                    modules.last_mut().ok_or("a table in no module")?.push(table.ty.initial);
                }
            }
            Payload::InstanceSection(section) if depth == 0 => {
                for instance in section {
                    let Instance::Instantiate { module_index, .. } = instance.map_err(text)? else { continue };
                    let module = usize::try_from(module_index).ok().and_then(|index| modules.get(index));
                    sizes.extend(module.ok_or("an instance of no module")?);
                }
            }
            _ => {}
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_table_comes_first_and_the_others_after_it() {
        let component = wat::parse_str(
            "(component
                (core module $a (table 3 funcref)) (core module $b (table 10 funcref))
                (core module $c (table 4 funcref))
                (core instance (instantiate $a)) (core instance (instantiate $b)) (core instance (instantiate $c)))",
        );
        let Tables { places, size } = plan(&component.unwrap()).unwrap();
        assert_eq!((places, size), (vec![10, 0, 13], 17));
    }
}

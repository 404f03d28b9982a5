//! A result as a Parquet file.

use parquet::{
    basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    errors::{ParquetError, Result},
    file::writer::{SerializedFileWriter, SerializedRowGroupWriter},
    schema::types::Type,
};
use serde_json::Value;
use std::sync::Arc;

use super::{Answered, FIGURES, Figure, FigureKind, own_text};

/// The table as Parquet. The caller's own columns are texts.
///
/// # Errors
/// A failure of the writer, which writes into memory.
pub(crate) fn to_parquet(answered: &Answered) -> Result<Vec<u8>> {
    let own = answered.columns.iter().map(|name| field(name, FigureKind::Text));
    let figures = FIGURES.iter().map(|column| field(&column.name_beside(&answered.columns), column.kind));
    let fields = own.chain(figures).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("batch").with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Default::default())?;
    let mut group = file.next_row_group()?;
    for at in 0..answered.columns.len() {
        let cells = answered.rows.iter().map(|(row, _)| row.cells.get(at).filter(|cell| !cell.is_null()));
        write::<ByteArrayType>(
            &mut group,
            cells.map(|cell: Option<&Value>| Some(own_text(cell?).into_bytes().into())),
        )?;
    }
    for column in FIGURES {
        let figures = answered.rows.iter().map(|(_, answer)| column.of(answer));
        match column.kind {
            FigureKind::Text => write::<ByteArrayType>(&mut group, figures.map(text))?,
            FigureKind::Whole => write::<Int64Type>(&mut group, figures.map(whole))?,
            FigureKind::Real => write::<DoubleType>(&mut group, figures.map(real))?,
        }
    }
    group.close()?;
    file.into_inner()
}

fn field(name: &str, kind: FigureKind) -> Result<Arc<Type>> {
    let physical = match kind {
        FigureKind::Text => PhysicalType::BYTE_ARRAY,
        FigureKind::Whole => PhysicalType::INT64,
        FigureKind::Real => PhysicalType::DOUBLE,
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    let builder = match kind {
        FigureKind::Text => {
            builder.with_logical_type(Some(LogicalType::String)).with_converted_type(ConvertedType::UTF8)
        }
        FigureKind::Whole | FigureKind::Real => builder,
    };
    Ok(Arc::new(builder.build()?))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut defined) = (Vec::new(), Vec::new());
    for cell in cells {
        defined.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    let lacks = || ParquetError::General("a column is not in the schema".into());
    let mut column = group.next_column()?.ok_or_else(lacks)?;
    column.typed::<T>().write_batch(&values, Some(&defined), None)?;
    column.close()
}

fn text(figure: Option<Figure>) -> Option<ByteArray> {
    match figure {
        Some(Figure::Text(text)) => Some(text.into_bytes().into()),
        _ => None,
    }
}

fn whole(figure: Option<Figure>) -> Option<i64> {
    match figure {
        Some(Figure::Whole(number)) => Some(number),
        _ => None,
    }
}

fn real(figure: Option<Figure>) -> Option<f64> {
    match figure {
        Some(Figure::Real(number)) => Some(number),
        _ => None,
    }
}

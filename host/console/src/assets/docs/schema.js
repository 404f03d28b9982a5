// The schemas of the document in words: types, and a tree of the fields of an object.

import { html, useState } from "../dom.js";
import { Markdown } from "../markdown.js";

/**
 * The schema that `schema` refers to, and its name.
 * @param {ApiDocument} api
 * @param {Schema | true | undefined} schema
 * @returns {{ name?: string; schema: Schema }}
 */
export function resolved(api, schema) {
  if (!schema || schema === true) return { schema: {} };
  const name = schema.$ref?.split("/").at(-1);
  return name ? { name, schema: api.components.schemas[name] ?? {} } : { schema };
}

/** @param {Schema} schema */
const kinds = ({ type }) => (Array.isArray(type) ? type : type ? [type] : []);

/**
 * What a value of `schema` is, such as `string or null` or `list of Score`.
 * @param {ApiDocument} api
 * @param {Schema | true | undefined} given
 * @returns {string}
 */
export function typeName(api, given) {
  const { name, schema } = resolved(api, given);
  if (name) return name;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map((one) => typeName(api, one)).join(" or ");
  if (schema.allOf) return schema.allOf.map((one) => typeName(api, one)).join(" and ");
  const words = kinds(schema).map((kind) => (kind === "array" ? `list of ${typeName(api, schema.items)}` : kind));
  return words.join(" or ") || "anything";
}

/**
 * The limits of a value.
 * @param {Schema} schema
 */
export function limits(schema) {
  const { enum: values, minimum, maximum, minLength, maxLength, pattern, format } = schema;
  return [
    values && `one of ${values.join(", ")}`,
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
    minLength !== undefined && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    format && !["int32", "int64", "double", "float"].includes(format) && format,
    pattern && html`matches <code>${pattern}</code>`,
  ].filter(Boolean);
}

/**
 * The example of a body: its own, or that of its schema.
 * @param {ApiDocument} api
 * @param {Content | undefined} content
 */
export function exampleOf(api, content) {
  const given = content?.example ?? Object.values(content?.examples ?? {})[0]?.value;
  return given ?? resolved(api, content?.schema).schema.example;
}

/**
 * The object inside of lists and alternatives whose fields are worth showing.
 * @param {ApiDocument} api
 * @param {Schema | undefined} given
 * @returns {Schema[]}
 */
function objects(api, given) {
  const { schema } = resolved(api, given);
  if (schema.properties) return [schema];
  if (schema.items && schema.items !== true) return objects(api, schema.items);
  return [...(schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [])].flatMap((one) => objects(api, one));
}

/**
 * The fields of `schema`; those of inner objects are shown when they are opened.
 * @param {{ api: ApiDocument; schema?: Schema }} props
 */
export function Fields({ api, schema }) {
  const found = objects(api, schema);
  if (found.length === 0) return null;
  return found.map(
    ({ properties = {}, required = [] }) => html`<ul class="fields">
      ${Object.entries(properties).map(
        ([name, field]) =>
          html`<${Field} api=${api} name=${name} field=${field} isRequired=${required.includes(name)} />`,
      )}
    </ul>`,
  );
}

/** @param {{ api: ApiDocument; name: string; field: Schema; isRequired: boolean }} props */
function Field({ api, name, field, isRequired }) {
  const [isOpen, setOpen] = useState(false);
  const { schema } = resolved(api, field);
  const words = field.description ?? schema.description;
  const bounds = limits(schema);
  const inner = objects(api, field).length > 0;
  return html`<li>
    <code>${name}</code> <span class="faint">${typeName(api, field)}${!isRequired && ", optional"}</span>
    ${words && html`<${Markdown} text=${words} />`}
    ${bounds.length > 0 && html`<p class="faint">${bounds.map((bound, at) => html`${at > 0 && "; "}${bound}`)}</p>`}
    ${
      inner &&
      html`<details onToggle=${(event) => setOpen(event.currentTarget.open)}>
        <summary>Fields of ${name}</summary>
        ${isOpen && html`<${Fields} api=${api} schema=${field} />`}
      </details>`
    }
  </li>`;
}

// The parts of an OpenAPI document that /docs reads.

export {};

declare global {
  interface Schema {
    $ref?: string;
    type?: string | string[];
    description?: string;
    enum?: unknown[];
    minimum?: number;
    maximum?: number;
    minLength?: number;
    maxLength?: number;
    pattern?: string;
    format?: string;
    default?: unknown;
    example?: unknown;
    items?: Schema | true;
    properties?: Record<string, Schema>;
    required?: string[];
    oneOf?: Schema[];
    anyOf?: Schema[];
    allOf?: Schema[];
  }
  interface Content {
    schema?: Schema;
    example?: unknown;
    examples?: Record<string, { value?: unknown }>;
  }
  interface Parameter {
    name: string;
    in: "path" | "query" | "header";
    required?: boolean;
    description?: string;
    schema?: Schema;
    example?: unknown;
  }
  interface RequestBody {
    content: Record<string, Content>;
    required?: boolean;
    description?: string;
  }
  interface Reply {
    description: string;
    content?: Record<string, Content>;
    headers?: Record<string, unknown>;
  }
  interface Operation {
    method: string;
    path: string;
    operationId: string;
    tags?: string[];
    summary?: string;
    description?: string;
    deprecated?: boolean;
    security?: Record<string, unknown>[];
    parameters?: Parameter[];
    requestBody?: RequestBody;
    responses: Record<string, Reply>;
  }
  /** The document of the API. */
  interface ApiDocument {
    info: { version: string; description: string };
    tags: { name: string; description?: string }[];
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  }
}

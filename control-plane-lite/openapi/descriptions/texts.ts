/** Descriptions of a type and its fields. */

export interface Text {
  /** One or two sentences on the type. */
  readonly is?: string;
  /** Sentences on fields, by their names in the tables: the purpose, the default, the unit, the constraints. */
  readonly members?: Readonly<Record<string, string>>;
}

/** By package and type, the package without the platform's domain: `rbac.authorization/v1.PolicyRule`. */
export type Texts = Readonly<Record<string, Text>>;

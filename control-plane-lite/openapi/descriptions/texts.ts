/** Descriptions of a type and its fields. */

export interface Text {
  /** One line on the type. */
  readonly is?: string;
  /** One line each on members, by their names in the tables. */
  readonly members?: Readonly<Record<string, string>>;
}

/** By package and type, the package without the platform's domain: `rbac.authorization/v1.PolicyRule`. */
export type Texts = Readonly<Record<string, Text>>;

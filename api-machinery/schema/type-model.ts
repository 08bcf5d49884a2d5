/** Type model: merge behavior of the members of a type, for strategic merge patch, server-side apply, pruning
 *  and OpenAPI, whatever its source (the type tables, or the schema of a custom resource). Member names are
 *  those on the wire. Lazy: a node's children are created on demand, so types may contain themselves. Source:
 *  server-side apply, document 1 §4.9; facts README, api-types.json. */

/** Merge directives of strategic merge patch. */
export interface PatchMarkers {
  /** `merge`, `replace`, `retainKeys`, or `merge,retainKeys` as given. */
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
}

export interface StructNode {
  readonly kind: 'struct';
  /** `atomic`: the whole has one owner. */
  readonly structType: 'granular' | 'atomic';
  /** Declared members, in output order. */
  readonly members: readonly string[];
  /** The node of a declared member; `undefined` if the type has no such member. */
  member(name: string): MemberNode | undefined;
}

export interface MapNode {
  readonly kind: 'map';
  readonly mapType: 'granular' | 'atomic';
  readonly element: TypeNode;
}

export interface ListNode {
  readonly kind: 'list';
  readonly listType: 'atomic' | 'set' | 'map';
  /** Keys of items if `listType` is `map`; never empty then. */
  readonly mapKeys: readonly string[];
  /** Defaults of key members that items may omit, such as `protocol: TCP` of a container's port. */
  readonly keyDefaults: Readonly<Record<string, unknown>>;
  readonly element: TypeNode;
}

export interface ScalarNode {
  readonly kind: 'scalar';
}

/** Unknown members: maps act as structs, lists are atomic (custom resources without a schema, embedded
 *  objects). */
export interface UntypedNode {
  readonly kind: 'untyped';
}

export type TypeNode = StructNode | MapNode | ListNode | ScalarNode | UntypedNode;

export interface MemberNode extends PatchMarkers {
  readonly node: TypeNode;
  /** The member exists in every object of the type, even an empty one (`spec`, `template`, `containers`): the
   *  creator of an object owns its content, not the structure itself. */
  readonly always?: boolean;
}

/** The root of an object: always a struct, with `apiVersion`, `kind` and `metadata`. */
export interface TypeModel {
  readonly root: StructNode | UntypedNode;
}

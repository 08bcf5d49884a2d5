/** Path element and type of each member of an object, precomputed. Pure except for its cache. */
import type { MapNode, StructNode, TypeNode, UntypedNode } from '#api/schema/type-model.ts';

export interface MemberPlan {
  /** `f:<name>` */
  readonly element: string;
  readonly node: TypeNode;
  /** A declared member of a struct; false for keys of maps and for undeclared members. */
  readonly declared: boolean;
  /** Present in every object of the type, even an empty one. */
  readonly always: boolean;
}

export const UNTYPED: UntypedNode = { kind: 'untyped' };

export type ObjectNode = StructNode | MapNode | UntypedNode;

/** Undeclared members are cached too, up to a limit: their names are the client's choice. */
const MOST_REMEMBERED = 512;

// A cache: the results follow from the node and the name alone.
const plans = new WeakMap<StructNode, Map<string, MemberPlan>>();

/** Returns the plan of a member of an object of this type. */
export function memberPlan(node: ObjectNode, name: string): MemberPlan {
  if (node.kind === 'struct') return structMember(node, name);
  const type = node.kind === 'map' ? node.element : UNTYPED;
  return { element: `f:${name}`, node: type, declared: false, always: false };
}

function structMember(node: StructNode, name: string): MemberPlan {
  let members = plans.get(node);
  if (members === undefined) {
    members = new Map();
    plans.set(node, members);
  }
  const known = members.get(name);
  if (known !== undefined) return known;
  const member = node.member(name);
  const plan: MemberPlan = {
    element: `f:${name}`,
    node: member?.node ?? UNTYPED,
    declared: member !== undefined,
    always: member?.always === true,
  };
  if (members.size < MOST_REMEMBERED) members.set(name, plan);
  return plan;
}

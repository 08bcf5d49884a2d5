/** Compiler of default rules: resolves a rule's path against the types once and returns a function that fills
 *  an object. Pure except for that object. */
import { setMember } from '../codec/set-member.ts';
import { isMutableObject } from '../kit/object.ts';
import { VOCABULARIES, type Vocabulary } from '../vocabulary.ts';
import { planOf, zeroValue } from './decode-plan.ts';
import { COMPUTED, CONDITIONS, type Condition, SOURCES } from './default-conditions.ts';
import { type DefaultRule, DefaultRuleError, type JsonObject } from './default-rules.ts';
import { formatTypeName, jsonFields, shapeOf, type TypeName } from './registry.ts';

export interface DefaultOptions {
  /** Feature gates that are on; rules of other gates do not apply. Default none. */
  readonly gates?: ReadonlySet<string>;
  /** Vocabulary of the values. Default: the platform's. */
  readonly vocabulary?: Vocabulary;
}

/** Fills `parent`, which is `root` (an object of the rule's type) or inside it. */
export type Step = (parent: JsonObject, root: JsonObject, options: DefaultOptions) => void;

const UNCONDITIONAL: Condition = { holds: () => true };

/** A member of a type's objects, as the rules need it. */
interface Member {
  readonly pointer: boolean;
  /** The type of the member, or of its items or entries. */
  readonly inner: TypeName | undefined;
}

function memberOf(owner: TypeName, name: string): Member {
  const field = jsonFields(owner).find((candidate) => candidate.json === name);
  if (field === undefined) throw new DefaultRuleError(`${formatTypeName(owner)} has no field ${name}`);
  return { pointer: field.ptr === true, inner: innerType(field.type, field.packageName) };
}

/** The type of a member's value, or of the values in its list or map; `undefined` if they are scalars. */
export function innerType(type: string, packageName: string): TypeName | undefined {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'struct') return shape.name;
  return shape.kind === 'scalar' ? undefined : innerType(shape.element, packageName);
}

function isEmpty(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}

const isZero = (value: unknown): boolean =>
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) ? value.length === 0 : isMutableObject(value) && isEmpty(value));

/** A pointer is unset only if it is absent; other fields also if they have their zero value. */
const isUnset = (value: unknown, pointer: boolean): boolean =>
  value === undefined || (!pointer && isZero(value));

/** Returns a copy of plain JSON; for values as small as defaults much cheaper than structuredClone. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isMutableObject(value)) return value;
  const copy: JsonObject = {};
  for (const [member, inner] of Object.entries(value)) setMember(copy, member, copyOf(inner));
  return copy;
}

function readPath(root: JsonObject, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const member of path) value = isMutableObject(value) ? value[member] : undefined;
  return value;
}

type Source = (parent: JsonObject, root: JsonObject, options: DefaultOptions) => unknown;

/** Source of the value: the table, a sibling of the field, or a path from the rule's object. */
function compileSource(rule: DefaultRule): Source {
  const { from, value, upstreamValue } = rule;
  if (from === undefined) {
    if (upstreamValue === undefined) return () => copyOf(value);
    return (_, __, options) => (options.vocabulary?.name === 'kubernetes' ? upstreamValue : value);
  }
  const source = SOURCES.get(from);
  if (source !== undefined) return (_, root) => source(root);
  if (!/^[A-Za-z.]+$/.test(from)) throw new DefaultRuleError(`no source '${from}' (${rule.type})`);
  const path = from.split('.');
  if (path.length === 1) return (parent) => copyOf(parent[from]);
  return (_, root) => copyOf(readPath(root, path));
}

function conditionOf(rule: DefaultRule): Condition {
  const condition = rule.when === undefined ? UNCONDITIONAL : CONDITIONS.get(rule.when);
  if (condition === undefined) throw new DefaultRuleError(`no condition '${rule.when}' (${rule.type})`);
  return condition;
}

/** Sets the field itself. */
function compileSetter(rule: DefaultRule, name: string, pointer: boolean): Step {
  const { holds } = conditionOf(rule);
  if (rule.forced === true && rule.value === null) {
    return (parent, root) => {
      if (parent[name] !== undefined && holds({ root, parent })) delete parent[name];
    };
  }
  const source = compileSource(rule);
  return (parent, root, options) => {
    if (!isUnset(parent[name], pointer) || !holds({ root, parent })) return;
    const value = source(parent, root, options);
    // A value that is omitted from output is not set.
    if (value === undefined || (!pointer && isZero(value))) return;
    parent[name] = value;
  };
}

/** Fills the members of an object that the rule gives as one value. */
function compileMerge(rule: DefaultRule, name: string): Step {
  const { value } = rule;
  if (!isMutableObject(value))
    throw new DefaultRuleError(`rule ${rule.type} ${rule.path} must give an object`);
  return (parent) => {
    const found = parent[name];
    const target = isMutableObject(found) ? found : {};
    for (const [member, text] of Object.entries(value)) target[member] ??= copyOf(text);
    parent[name] = target;
  };
}

/** Applies a rule to the entries of a map: computed from each entry, or copied from another map's entries. */
function compileEntries(rule: DefaultRule, name: string): Step {
  const { holds } = conditionOf(rule);
  const compute = typeof rule.value === 'string' ? COMPUTED.get(rule.value) : undefined;
  if (compute !== undefined) {
    return (parent) => {
      const found = parent[name];
      if (!isMutableObject(found)) return;
      for (const key in found) {
        const made = compute(found[key]);
        if (made !== found[key]) found[key] = made;
      }
    };
  }
  const sourceName = rule.from?.split('.').at(-2);
  if (sourceName === undefined) throw new DefaultRuleError(`rule ${rule.type} ${rule.path} has no source`);
  return (parent, root) => {
    const source = parent[sourceName];
    if (!isMutableObject(source) || isEmpty(source) || !holds({ root, parent })) return;
    const found = parent[name];
    if (!isMutableObject(found)) parent[name] = { ...source };
    else for (const key in source) found[key] ??= source[key];
  };
}

/** Adds an item to a list, computed from its items. */
function compileAddition(rule: DefaultRule, name: string): Step {
  const { holds } = conditionOf(rule);
  const compute = COMPUTED.get(String(rule.value));
  if (compute === undefined) throw new DefaultRuleError(`no value '${String(rule.value)}' (${rule.type})`);
  return (parent, root) => {
    if (holds({ root, parent })) parent[name] = compute(parent[name]);
  };
}

function compileItems(name: string, next: Step): Step {
  return (parent, root, options) => {
    const items: unknown = parent[name];
    if (!Array.isArray(items)) return;
    for (const item of items) if (isMutableObject(item)) next(item, root, options);
  };
}

/** An absent optional object stays absent; an absent embedded one is created if a member of it is set, with
 *  the members that its type always has. */
function compileMember(rule: DefaultRule, name: string, { pointer, inner }: Member, next: Step): Step {
  const condition = conditionOf(rule);
  const { holds } = condition;
  const mayCreate = !pointer || condition.creates === true;
  return (parent, root, options) => {
    const existing = parent[name];
    if (isMutableObject(existing)) return next(existing, root, options);
    if (!mayCreate || (condition.creates === true && !holds({ root, parent }))) return undefined;
    const made: JsonObject = {};
    next(made, root, options);
    if (isEmpty(made) || inner === undefined) return undefined;
    const zero = zeroValue(planOf(formatTypeName(inner), options.vocabulary ?? VOCABULARIES.plat));
    parent[name] = isMutableObject(zero) ? Object.assign(zero, made) : made;
    return undefined;
  };
}

function compilePath(rule: DefaultRule, owner: TypeName, path: readonly string[]): Step {
  const [step = '', ...rest] = path;
  if (step.endsWith('[1]')) return compileAddition(rule, step.slice(0, -'[1]'.length));
  const isList = step.endsWith('[]');
  const name = isList ? step.slice(0, -2) : step;
  const member = memberOf(owner, name);
  if (rest.length === 0) {
    const merges = rule.when?.endsWith('filled per member') === true;
    return merges ? compileMerge(rule, name) : compileSetter(rule, name, member.pointer);
  }
  if (rest[0] === '<name>') return compileEntries(rule, name);
  if (member.inner === undefined) throw new DefaultRuleError(`path ${rule.path} leads through a scalar`);
  const next = compilePath(rule, member.inner, rest);
  return isList ? compileItems(name, next) : compileMember(rule, name, member, next);
}

/** Compiles the rule to a function of an object of type `owner` (the rule's type, or one that includes it).
 *  @throws DefaultRuleError if the rule is not supported */
export function compileRule(rule: DefaultRule, owner: TypeName): Step {
  const step = compilePath(rule, owner, rule.path.split('.'));
  const { gate } = rule;
  if (gate === undefined) return step;
  return (parent, root, options) => {
    if (options.gates?.has(gate) === true) step(parent, root, options);
  };
}

/** Returns the member of the type's objects that the rule fills or descends into. */
export const firstMember = ({ path }: DefaultRule): string => /^[^.[]*/.exec(path)?.[0] ?? path;

/** Reports whether the rule is evaluated before the others of its type. */
export const isEarly = (rule: DefaultRule): boolean => conditionOf(rule).early === true;

/** Reports whether the rule applies to decoded objects, not only to a form or stage that clients don't see. */
export const isForReading = (rule: DefaultRule): boolean =>
  rule.note?.startsWith('internal only') !== true && conditionOf(rule).elsewhere !== true;

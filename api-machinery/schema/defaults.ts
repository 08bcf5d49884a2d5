/** Fills what an object leaves out, from the rules in schema/data/defaults.json. Pure: gives a changed copy.
 *  Rules of an outer type apply before those of the types inside it. */
import {
  COMPUTED,
  CONDITIONS,
  type DefaultRule,
  DefaultRuleError,
  isObject,
  type JsonObject,
  readDefaultRules,
} from './default-rules.ts';
import {
  formatTypeName,
  inlineTypes,
  jsonFields,
  parseTypeName,
  shapeOf,
  type TypeName,
  typeOf,
} from './registry.ts';

export interface DefaultOptions {
  /** Feature gates that are on; rules of other gates do not apply. Default none. */
  readonly gates?: ReadonlySet<string>;
}

type RuleIndex = ReadonlyMap<string, readonly DefaultRule[]>;

/** A member of a type's objects, with what the rules need to know of it. */
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

function innerType(type: string, packageName: string): TypeName | undefined {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'struct') return shape.name;
  return shape.kind === 'scalar' ? undefined : innerType(shape.element, packageName);
}

/** A pointer is unset only when absent; other fields also when they have their zero value. */
function isUnset(value: unknown, pointer: boolean): boolean {
  if (value === undefined) return true;
  if (pointer) return false;
  if (value === '' || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

function readPath(root: JsonObject, path: string): unknown {
  let value: unknown = root;
  for (const member of path.split('.')) value = isObject(value) ? value[member] : undefined;
  return value;
}

class RuleRun {
  readonly #rule: DefaultRule;
  readonly #root: JsonObject;

  constructor(rule: DefaultRule, root: JsonObject) {
    this.#rule = rule;
    this.#root = root;
  }

  /** Follows the rule's path from `parent`, of type `owner`, over every list item on the way. */
  walk(parent: JsonObject, owner: TypeName, path: readonly string[]): void {
    const [step = '', ...rest] = path;
    const name = step.replace(/\[\]$/, '');
    const member = memberOf(owner, name);
    if (rest.length === 0) return this.#set(parent, name, member.pointer);
    if (rest[0] === '<name>') return this.#entries(parent, name);
    const { inner } = member;
    if (inner === undefined) throw new DefaultRuleError(`path ${this.#rule.path} leads through a scalar`);
    if (step.endsWith('[]')) {
      for (const item of listOf(parent[name])) if (isObject(item)) this.walk(item, inner, rest);
      return undefined;
    }
    // An absent optional object stays absent, an absent embedded one comes into being.
    const existing = parent[name];
    if (existing === undefined && member.pointer) return undefined;
    const next = isObject(existing) ? existing : {};
    this.walk(next, inner, rest);
    if (Object.keys(next).length > 0) parent[name] = next;
    return undefined;
  }

  #allows(parent: JsonObject): boolean {
    const { when } = this.#rule;
    if (when === undefined) return true;
    const condition = CONDITIONS.get(when);
    if (condition === undefined) throw new DefaultRuleError(`no condition '${when}' (${this.#rule.type})`);
    return condition({ root: this.#root, parent });
  }

  #set(parent: JsonObject, name: string, pointer: boolean): undefined {
    if (!isUnset(parent[name], pointer) || !this.#allows(parent)) return;
    const { from, value } = this.#rule;
    const source = from === undefined ? value : (parent[from] ?? readPath(this.#root, from));
    if (source !== undefined) parent[name] = structuredClone(source);
  }

  /** Rules over the entries of a map: computed from each entry, or copied from another map's entries. */
  #entries(parent: JsonObject, name: string): undefined {
    const { from, value } = this.#rule;
    const compute = typeof value === 'string' ? COMPUTED.get(value) : undefined;
    const found = parent[name];
    if (compute !== undefined) {
      if (isObject(found)) for (const [key, entry] of Object.entries(found)) found[key] = compute(entry);
      return;
    }
    const source = parent[(from ?? '').split('.').at(-2) ?? ''];
    if (!isObject(source) || Object.keys(source).length === 0 || !this.#allows(parent)) return;
    parent[name] = { ...source, ...(isObject(found) ? found : {}) };
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function applies(rule: DefaultRule, options: DefaultOptions): boolean {
  if (rule.note?.startsWith('internal only') === true) return false;
  return rule.gate === undefined || options.gates?.has(rule.gate) === true;
}

function indexRules(options: DefaultOptions): RuleIndex {
  return Map.groupBy(
    readDefaultRules().filter((rule) => applies(rule, options)),
    (rule) => rule.type,
  );
}

/** Applies the rules of the object's type, then goes into its members. */
function defaultStruct(rules: RuleIndex, name: TypeName, object: JsonObject): void {
  if (typeOf(name).jsonForm !== undefined) return;
  for (const included of inlineTypes(name)) {
    for (const rule of rules.get(formatTypeName(included)) ?? []) {
      new RuleRun(rule, object).walk(object, name, rule.path.split('.'));
    }
  }
  for (const field of jsonFields(name)) {
    const value = object[field.json];
    if (value === undefined) continue;
    defaultMember(rules, field.type, field.packageName, value);
  }
}

function defaultMember(rules: RuleIndex, type: string, packageName: string, value: unknown): void {
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'scalar') return;
  if (shape.kind === 'struct') {
    if (isObject(value)) defaultStruct(rules, shape.name, value);
    return;
  }
  if (innerType(shape.element, packageName) === undefined) return;
  const members = isObject(value) ? Object.values(value) : listOf(value);
  for (const member of members) defaultMember(rules, shape.element, packageName, member);
}

/** A copy of the object with every default that applies to it and to what is inside it.
 *  @throws UnknownTypeError
 *  @throws DefaultRuleError if a rule that applies is not understood */
export function applyDefaults<T>(typeRef: string, value: T, options: DefaultOptions = {}): T {
  const copy = structuredClone(value);
  if (isObject(copy)) defaultStruct(indexRules(options), parseTypeName(typeRef), copy);
  return copy;
}

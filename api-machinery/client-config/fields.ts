/** Reader of untyped objects: reports members of the wrong type, and warns about unknown members. */
import { isObject } from '../kit/object.ts';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { suggest } from '../schema/suggestion.ts';
import type { DataOrFile } from './model.ts';

export interface Findings {
  readonly errors: FieldError[];
  readonly warnings: FieldError[];
}

/** Values of one object. Absent members and nulls read as empty. */
export interface Section {
  readonly path: string;
  text(name: string): string;
  /** Like `text`, for a value that must not be shown. */
  secret(name: string): string;
  flag(name: string): boolean;
  texts(name: string): readonly string[];
  /** `name` is the path of a file, `<name>-data` its content in base64. */
  dataOrFile(name: string): DataOrFile;
  textMap(name: string): Readonly<Record<string, string>>;
  textsMap(name: string): Readonly<Record<string, readonly string[]>>;
  section(name: string, known: readonly string[]): Section | undefined;
  sections(name: string, known: readonly string[]): readonly Section[];
  value(name: string): unknown;
  report(kind: FieldErrorKind, name: string, detail: string, badValue?: unknown): void;
}

type JsonObject = Readonly<Record<string, unknown>>;

const isMissing = (value: unknown): value is undefined | null => value === undefined || value === null;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Decodes base64; undefined if it is invalid. */
export function decodeBase64(encoded: string): string | undefined {
  const plain = encoded.replaceAll(/\s/g, '');
  if (plain.length % 4 !== 0 || !BASE64.test(plain)) return undefined;
  return Buffer.from(plain, 'base64').toString('utf8');
}

/** Returns the message for a value of the wrong type. */
function wrongType(value: unknown, wanted: string): string {
  const isScalar = typeof value === 'number' || typeof value === 'boolean';
  return wanted === 'a string' && isScalar ? 'must be a string: put it in quotes' : `must be ${wanted}`;
}

/** Opens an object. Anything else is reported as an error and reads as an empty object. */
export function openSection(
  value: unknown,
  path: string,
  known: readonly string[],
  findings: Findings,
): Section {
  const object: JsonObject = isObject(value) ? value : {};
  const pathOf = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const report: Section['report'] = (kind, name, detail, badValue) => {
    const field = name === '' ? path : pathOf(name);
    findings.errors.push({ kind, field, detail, ...(badValue === undefined ? {} : { badValue }) });
  };
  if (!isObject(value)) report('FieldValueTypeInvalid', '', 'must be an object');
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const near = suggest(name, known);
    const detail = `is not used; ${near === undefined ? `known fields are ${known.join(', ')}` : `did you mean ${near}?`}`;
    findings.warnings.push({ kind: 'FieldUnknown', field: pathOf(name), detail });
  }
  function take<T>(
    name: string,
    is: (item: unknown) => item is T,
    wanted: string,
    shown = true,
  ): T | undefined {
    const member = object[name];
    if (isMissing(member)) return undefined;
    if (is(member)) return member;
    report('FieldValueTypeInvalid', name, wrongType(member, wanted), shown ? member : undefined);
    return undefined;
  }
  function open(member: unknown, name: string, members: readonly string[]): Section {
    return openSection(member, pathOf(name), members, findings);
  }
  const isTextMap = (item: unknown): item is Readonly<Record<string, string>> =>
    isObject(item) && Object.values(item).every(isText);
  const isTextsMap = (item: unknown): item is Readonly<Record<string, readonly string[]>> =>
    isObject(item) && Object.values(item).every(isTexts);
  const text = (name: string): string => take(name, isText, 'a string') ?? '';
  return {
    path,
    text,
    secret: (name) => take(name, isText, 'a string', false) ?? '',
    flag: (name) => take(name, (item) => typeof item === 'boolean', 'true or false') ?? false,
    texts: (name) => take(name, isTexts, 'a list of strings', false) ?? [],
    textMap: (name) => take(name, isTextMap, 'an object with strings', false) ?? {},
    textsMap: (name) => take(name, isTextsMap, 'an object with lists of strings') ?? {},
    dataOrFile(name) {
      const file = text(name);
      const encoded = take(`${name}-data`, isText, 'a string', false) ?? '';
      const data = decodeBase64(encoded);
      if (data === undefined) report('FieldValueInvalid', `${name}-data`, 'must be base64 of a PEM text');
      return { ...(file === '' ? {} : { file }), ...(isMissing(data) || data === '' ? {} : { data }) };
    },
    section: (name, members) => (isMissing(object[name]) ? undefined : open(object[name], name, members)),
    sections(name, members) {
      const list = take(name, (item): item is readonly unknown[] => Array.isArray(item), 'a list') ?? [];
      return list.map((item, index) => open(item, `${name}[${index}]`, members));
    },
    value: (name) => object[name],
    report,
  };
}

/** Configuration of one plugin from the admission configuration file, and the format of its validation
 *  errors. */
import { type Findings, openSection, type Section } from '#api/client-config/fields.ts';
import { type FieldError, formatErrorDetail, formatFieldError } from '#api/meta/field-error.ts';
import { canonicalApiVersion, VOCABULARIES } from '#api/vocabulary.ts';

/** The settings of one plugin, as they were read. */
export interface PluginConfig {
  /** File of the settings: named in errors, and base of relative paths. */
  readonly file: string;
  /** Path of the settings in the file; empty: they are the file. */
  readonly path: string;
  readonly value: unknown;
}

/** By the names of plugins. */
export type PluginConfigs = ReadonlyMap<string, PluginConfig>;

/** Settings of plugins that can't be used. */
export class PluginConfigError extends Error {
  override readonly name = 'PluginConfigError';
  readonly problems: readonly string[];
  constructor(file: string, errors: readonly FieldError[], options: ErrorOptions = {}) {
    const problems = errors.map((error) => {
      const text = error.field === '' ? formatErrorDetail(error) : formatFieldError(error);
      return `--admission-control-config-file: ${file}: ${text}`;
    });
    super(problems.join('\n'), options);
    this.problems = problems;
  }
}

/** Parses a configuration with `read`, which reports validation errors to the section. Unknown fields are
 *  errors. @throws PluginConfigError with every validation error */
export function readPluginConfig<T>(
  { file, path, value }: PluginConfig,
  known: readonly string[],
  read: (section: Section) => T,
): T {
  const findings: Findings = { errors: [], warnings: [] };
  const result = read(openSection(value, path, known, findings));
  const errors = [...findings.errors, ...findings.warnings];
  if (errors.length > 0) throw new PluginConfigError(file, errors);
  return result;
}

/** Reports a kind that is none of the wanted; each is a group without its domain, a version and a kind. Either
 *  vocabulary will do. */
export function checkKind(
  section: Section,
  wanted: readonly { readonly group: string; readonly version: string; readonly kind: string }[],
): void {
  const { apiGroupDomain } = VOCABULARIES.plat;
  const [apiVersion, kind] = [section.text('apiVersion'), section.text('kind')];
  const found = wanted.some(
    (each) =>
      canonicalApiVersion(apiVersion) === `${each.group}.${apiGroupDomain}/${each.version}` &&
      each.kind === kind,
  );
  if (found) return;
  const names = wanted.map((each) => `${each.kind} of ${each.group}.${apiGroupDomain}/${each.version}`);
  section.report(
    'FieldValueNotSupported',
    'kind',
    `must be ${names.join(', or ')}`,
    `${kind} of ${apiVersion}`,
  );
}

/** A whole number in a range; `fallback` where it isn't given. */
export function integerIn(
  section: Section,
  name: string,
  { fallback, min, max }: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  const value = section.value(name);
  if (value === undefined || value === null) return fallback;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  section.report('FieldValueInvalid', name, `must be a whole number from ${min} to ${max}`, value);
  return fallback;
}

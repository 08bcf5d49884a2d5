/** Loads the configuration: flags, then the file that they specify, then defaults, and validates all of it.
 *  Reads one file and modifies nothing. Source: configuration, document 3 §4.3. */
import { errorCode } from '#api/kit/errno.ts';
import type { ConfigError } from './errors.ts';
import { type FileValues, readConfigFile } from './file.ts';
import { type GivenFlag, scanFlags } from './flags/scan.ts';
import { type FlagValues, readFlags } from './flags/values.ts';
import { type AgentConfig, readAgentConfig } from './gen/config.ts';
import { inVainWarnings } from './no-effect.ts';
import { formatOrigin, type Origins } from './origin.ts';
import { createConfigReader } from './reader.ts';
import { resolveValues } from './resolve.ts';
import { SETTING_BY_KEY } from './table.ts';
import { type ConfigFieldError, validateConfig } from './validate/config.ts';

export interface LoadConfigDeps {
  readonly readFile: (path: string) => Promise<string | Uint8Array>;
  /** Base of relative paths in flags: an absolute path. */
  readonly cwd: string;
}

export type LoadResult =
  | {
      readonly kind: 'ok';
      readonly config: AgentConfig;
      readonly origins: Origins;
      /** Deprecated and repeated flags, and settings without effect. */
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: 'error';
      /** All errors in flags, file and their combination. */
      readonly errors: readonly ConfigError[];
      readonly warnings: readonly string[];
    }
  | { readonly kind: 'help'; readonly text: string }
  | {
      readonly kind: 'version';
      /** With all its parts, for programs. */
      readonly raw: boolean;
    };

interface FileOutcome {
  readonly file?: FileValues;
  readonly errors: readonly ConfigError[];
}

function reasonOf(error: unknown): string {
  switch (errorCode(error) ?? '') {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
      return 'not readable by this user';
    case 'EISDIR':
      return 'is a directory; specify the file in it';
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function loadFile(flags: FlagValues, deps: LoadConfigDeps): Promise<FileOutcome> {
  const given = flags.values.get('config');
  if (given === undefined || given.value.shape !== 'text' || given.value.value === '') return { errors: [] };
  const path = given.value.value;
  try {
    const file = readConfigFile(await deps.readFile(path), path);
    return { file, errors: file.errors };
  } catch (error) {
    const detail = reasonOf(error);
    return { errors: [{ kind: 'FieldValueInvalid', field: given.flag, badValue: path, detail }] };
  }
}

/** Returns the location of the first of some settings that was set: the reason why a default does not fit. */
function givenAmong(keys: readonly string[], origins: Origins): string | undefined {
  for (const key of keys) {
    const origin = origins.get(key);
    if (origin !== undefined && origin.kind !== 'default') return formatOrigin(origin);
  }
  return undefined;
}

/** Returns a validation error at the location of its value. */
function placeConfigFieldError(fieldError: ConfigFieldError, origins: Origins): ConfigError {
  const { settings, field, ...rest } = fieldError;
  const [key = field, ...others] = settings;
  const inside = field.slice(key.length);
  const origin = origins.get(key);
  if (origin?.kind === 'flag') return { ...rest, field: `${origin.flag}${inside}` };
  if (origin?.kind === 'file') return { ...rest, field: `${origin.path}${inside}`, file: origin.file };
  const setting = SETTING_BY_KEY.get(key);
  const flag = setting?.inFile === true ? undefined : setting?.flags[0];
  const cause = givenAmong(others, origins);
  const detail = cause === undefined ? rest.detail : `${rest.detail} (see ${cause})`;
  return { ...rest, field: `${flag === undefined ? key : `--${flag.name}`}${inside}`, detail };
}

function requestOf(flags: readonly GivenFlag[], key: string): string | undefined {
  const text = flags.find(({ entry }) => entry.setting.key === key)?.texts.at(-1);
  return text === 'false' ? undefined : text;
}

/** Reads and validates the whole configuration. Errors of the input are in the result, never thrown. */
export async function loadConfig(argv: readonly string[], deps: LoadConfigDeps): Promise<LoadResult> {
  const scan = await scanFlags(argv);
  if (requestOf(scan.flags, 'help') !== undefined) {
    const { renderHelp } = await import('./flags/yargs.ts');
    return { kind: 'help', text: await renderHelp() };
  }
  const version = requestOf(scan.flags, 'version');
  if (version !== undefined) return { kind: 'version', raw: version === 'raw' };

  const flags = readFlags(scan, deps.cwd);
  const { file, errors: fileErrors } = await loadFile(flags, deps);
  const { values, origins } = resolveValues(flags, file);
  const config = readAgentConfig(createConfigReader(values));
  const faulty = new Set([...flags.faulty, ...(file?.faulty ?? [])]);
  // An invalid value is replaced by its default, so validation rules about it would report the default.
  const fieldErrors = validateConfig(config).filter(
    ({ settings }) => !settings.some((key) => faulty.has(key)),
  );
  const errors = [
    ...flags.errors,
    ...fileErrors,
    ...fieldErrors.map((fieldError) => placeConfigFieldError(fieldError, origins)),
  ];
  const warnings = [...flags.warnings, ...(file?.warnings ?? [])];
  if (errors.length > 0) return { kind: 'error', errors, warnings };
  return { kind: 'ok', config, origins, warnings: [...warnings, ...inVainWarnings(config, origins)] };
}

/** Description of a setting. Data only: other modules read, validate and show values by this description. */
import type { NoEffect } from '#api/schema/effect.ts';

/** Type of a setting: its syntax and values.
 *  `thresholds` are eviction expressions, `headers` a map to lists, `modules` verbosity by file pattern,
 *  `location` is `file:line`; the last four are lists of objects in the configuration file. */
export type SettingType =
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'float'
  | 'string'
  | 'duration'
  | 'quantity'
  | 'ip'
  | 'severity'
  | 'location'
  | 'strings'
  | 'map'
  | 'thresholds'
  | 'gates'
  | 'headers'
  | 'modules'
  | 'taints'
  | 'memory'
  | 'priorities';

export const SETTING_GROUPS = [
  'Agent',
  'Pod sources',
  'Container runtime',
  'Images',
  'Container logs and garbage',
  'Network',
  'Resources and cgroups',
  'Eviction',
  'Security',
  'Volumes',
  'API server and node',
  'Serving',
  'Logging',
  'Docker only',
  'Container statistics (legacy)',
] as const;
export type SettingGroup = (typeof SETTING_GROUPS)[number];

/** A value as the table writes it, in the form of the configuration file. */
export type SettingDefault = boolean | number | string | readonly string[] | Readonly<Record<string, string>>;

export interface SettingFlag {
  /** Without the leading dashes. */
  readonly name: string;
  /** One letter, for `-v`. */
  readonly short?: string;
  /** `config-file`: the field of the file is preferred. `removal`: the flag will be removed. */
  readonly deprecated?: 'config-file' | 'removal';
  /** Release for which the removal was announced. */
  readonly removedIn?: string;
  /** The specification lists the flag. */
  readonly inSpec?: true;
  readonly stage?: 'alpha' | 'beta' | 'experimental';
}

export interface Setting {
  /** Dotted path in `AgentConfig` and, with `inFile`, in the configuration file. */
  readonly key: string;
  readonly group: SettingGroup;
  readonly type: SettingType;
  /** Value when neither a flag nor the file gives one. */
  readonly default: SettingDefault;
  /** The default in place of `default` when a configuration file is used. */
  readonly fileDefault?: SettingDefault;
  /** The configuration file may set it. */
  readonly inFile?: true;
  /** In preference order; none where only the file can set it. */
  readonly flags: readonly SettingFlag[];
  /** Lowest and highest value allowed, in the form of the configuration file; `null` is no limit. */
  readonly range?: readonly [number | string | null, number | string | null];
  /** The only values allowed, for a list those of its members. */
  readonly enum?: readonly string[];
  /** Meaning of a zero that is not a value of its own. */
  readonly zeroMeans?: 'default' | 'disabled';
  /** A path, made absolute: relative to the working directory, or to the directory of the file that contains
   *  it. */
  readonly isPath?: true;
  /** Feature gates that must all be enabled for a value other than the default. */
  readonly gates?: readonly string[];
  /** A duration that the file may also give as a number of nanoseconds. */
  readonly isNanoseconds?: true;
  /** Not shown, not logged. */
  readonly isSecret?: true;
  /** A URL, shown without credentials and query. */
  readonly isURL?: true;
  /** The value has an effect in this version; otherwise the reason why it is only read, validated and shown. */
  readonly acted: true | NoEffect;
  /** Description of the setting; without effect: its meaning elsewhere. */
  readonly help: string;
}

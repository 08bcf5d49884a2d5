/** Contract of the settings: their types, defaults and help. */

interface Common {
  /** Without dashes. */
  readonly flag: string;
  readonly help: string;
  readonly group: Group;
  /** Other spellings. */
  readonly aliases?: readonly string[];
}

type Group =
  | 'Serving'
  | 'Storage'
  | 'Authentication'
  | 'Authorization'
  | 'API'
  | 'Limits'
  | 'Nodes'
  | 'Autoscaling'
  | 'Audit'
  | 'Other';

export type Setting =
  | (Common & { readonly type: 'string'; readonly default: string; readonly choices?: readonly string[] })
  | (Common & {
      readonly type: 'list';
      readonly default: readonly string[];
      readonly choices?: readonly string[];
      /** Commas do not separate values: each use of the flag adds one. */
      readonly whole?: boolean;
    })
  | (Common & {
      readonly type: 'boolean';
      readonly default: boolean;
      /** Text that `--help` shows if the default depends on other settings. */
      readonly defaultText?: string;
    })
  | (Common & {
      readonly type: 'integer';
      readonly default: number;
      readonly min: number;
      readonly max: number;
    })
  /** May have a fraction. */
  | (Common & {
      readonly type: 'number';
      readonly default: number;
      readonly min: number;
      readonly max: number;
    })
  /** Text such as `1m30s`; its value is in ms. */
  | (Common & { readonly type: 'duration'; readonly default: string });

/** Settings that can have a value of this type. */
type SettingOf<V> = Extract<
  Setting,
  {
    readonly type: V extends boolean
      ? 'boolean'
      : V extends number
        ? 'integer' | 'number' | 'duration'
        : V extends string
          ? 'string'
          : 'list';
  }
>;

/** The settings of a part of the configuration. */
export type SettingsOf<Config> = { readonly [K in keyof Config]: SettingOf<Config[K]> };

export const MAX_COUNT = 1_000_000;

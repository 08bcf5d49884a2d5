/** Types of the settings. */

interface Common {
  /** Without dashes. */
  readonly flag: string;
  readonly help: string;
  readonly group: Group;
  /** Other spellings. */
  readonly aliases?: readonly string[];
}

export type Group =
  | 'Serving'
  | 'Storage'
  | 'Authentication'
  | 'Authorization'
  | 'API'
  | 'Limits'
  | 'Nodes'
  | 'Audit'
  | 'Other';

export type Setting =
  | (Common & { readonly type: 'string'; readonly default: string; readonly choices?: readonly string[] })
  | (Common & {
      readonly type: 'list';
      readonly default: readonly string[];
      readonly choices?: readonly string[];
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
  /** Text such as `1m30s`; its value is in ms. */
  | (Common & { readonly type: 'duration'; readonly default: string });

/** Settings that can have a value of this type. */
export type SettingOf<V> = Extract<
  Setting,
  {
    readonly type: V extends boolean
      ? 'boolean'
      : V extends number
        ? 'integer' | 'duration'
        : V extends string
          ? 'string'
          : 'list';
  }
>;

/** Parses the command line to the configuration; reports every error at once, each with its flag. */
import yargs, { type Argv, type Options } from 'yargs';
import { suggestion } from '#api/kit/text/suggest.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { effectText, noEffectWarnings, type SetInVain } from '#api/schema/effect.ts';
import { checkGates, type GateSettings } from '#api/schema/feature-gates.ts';
import { gatesSetInVain } from '#api/schema/gate-effects.ts';
import { upstreamAgentFlag } from '#api/vocabulary.ts';
import { pluginErrors } from '../admission/names.ts';
import { unknownControllers } from '../controllers/names.ts';
import { authenticationErrors, authenticationWarnings } from './authentication-errors.ts';
import { certificateErrors } from './certificate-errors.ts';
import { readConfigFile } from './file.ts';
import type { Setting } from './groups/setting.ts';
import { IGNORED_FLAGS } from './ignored.ts';
import { nodeRangeErrors } from './node-ranges.ts';
import { SETTINGS, type ServerConfig } from './settings.ts';
import { readSetting } from './values.ts';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

const entries: readonly (readonly [string, Setting])[] = Object.entries(SETTINGS);

/** Defaults are only described here, so that a given value can be distinguished from them. */
function defaultOf(setting: Setting): Options {
  const text = setting.type === 'boolean' ? setting.defaultText : undefined;
  return { defaultDescription: text ?? JSON.stringify(setting.default) };
}

/** Other spellings: also upstream's for the flags that name the agent. */
function aliasesOf({ flag, aliases = [] }: Setting): readonly string[] {
  const upstream = upstreamAgentFlag(flag);
  return upstream === flag ? aliases : [...aliases, upstream];
}

function option(setting: Setting): Options {
  const { help, group } = setting;
  const type = setting.type === 'boolean' ? 'boolean' : setting.type === 'list' ? 'array' : 'string';
  return {
    type,
    description: help,
    group: `${group}:`,
    alias: [...aliasesOf(setting)],
    ...defaultOf(setting),
    ...(setting.type === 'list' ? { string: true } : {}),
  };
}

/** Returns the gates that were set. Never throws: `gateErrors` reports invalid ones */
export const gateSettings = (words: readonly string[]): GateSettings =>
  Object.fromEntries(words.map((word) => [word.split('=')[0] ?? '', word.endsWith('=true')]));

/** Flags without effect that were set to another value than the fixed behaviour. */
function flagsSetInVain(config: ServerConfig): readonly SetInVain[] {
  return [...config.setInVain].flatMap(([flag, value]) => {
    const effect = IGNORED_FLAGS.get(flag);
    const isFixed = effect?.always !== undefined && String(effect.always) === String(value);
    return effect === undefined || isFixed ? [] : [{ subject: `--${flag}`, effect }];
  });
}

/** Returns warnings about settings without effect, in few lines. */
export const configWarnings = (config: ServerConfig): readonly string[] => [
  ...noEffectWarnings([
    ...gatesSetInVain(gateSettings(config.featureGates), 'control-plane-lite'),
    ...flagsSetInVain(config),
  ]),
  ...authenticationWarnings(config),
];

function gateErrors(words: readonly string[]): readonly string[] {
  const unreadable = words.filter((word) => !/^[A-Za-z0-9]+=(true|false)$/.test(word));
  if (unreadable.length > 0) {
    return unreadable.map(
      (word) => `--feature-gates: ${JSON.stringify(word)} is not name=true or name=false`,
    );
  }
  return checkGates(gateSettings(words)).map((error) => `--feature-gates: ${formatFieldError(error)}`);
}

/** Modes that a file configures, each with the flag of the file. */
function authorizationErrors(config: ServerConfig): readonly string[] {
  const modes = config.authorizationMode;
  const errors: string[] = [];
  if (new Set(modes).size < modes.length) {
    errors.push(`--authorization-mode: ${modes.join(',')} has a mode more than once`);
  }
  for (const [mode, flag, file] of [
    ['ABAC', 'authorization-policy-file', config.authorizationPolicyFile],
    ['Webhook', 'authorization-webhook-config-file', config.authorizationWebhookConfigFile],
  ] as const) {
    const isEnabled = modes.includes(mode);
    if (isEnabled && file === '') errors.push(`--authorization-mode: ${mode} requires --${flag}`);
    if (!isEnabled && file !== '') errors.push(`--${flag} has no effect without mode ${mode}`);
  }
  return errors;
}

/** Checks settings that only make sense together. */
function crossErrors(config: ServerConfig): readonly string[] {
  const errors: string[] = [];
  const both = (a: string, b: string, first: string, second: string): void => {
    if ((a === '') !== (b === '')) errors.push(`--${first} and --${second} must be given together`);
  };
  errors.push(...certificateErrors(config));
  both(config.etcdCertfile, config.etcdKeyfile, 'etcd-certfile', 'etcd-keyfile');
  both(
    config.nodeagentClientCertificate,
    config.nodeagentClientKey,
    'nodeagent-client-certificate',
    'nodeagent-client-key',
  );
  if (config.nodeagentSkipTlsVerify && config.nodeagentCertificateAuthority !== '') {
    errors.push('--nodeagent-skip-tls-verify and --nodeagent-certificate-authority exclude each other');
  }
  if (config.auditPolicyFile !== '' && config.auditLogPath === '' && config.auditWebhookConfigFile === '') {
    errors.push('--audit-policy-file has no effect without --audit-log-path or --audit-webhook-config-file');
  }
  errors.push(...nodeRangeErrors(config));
  errors.push(...authenticationErrors(config));
  errors.push(...authorizationErrors(config));
  errors.push(...gateErrors(config.featureGates));
  errors.push(...pluginErrors(config.enableAdmissionPlugins, config.disableAdmissionPlugins));
  for (const word of unknownControllers(config.controllers)) {
    errors.push(`--controllers: ${JSON.stringify(word)} names no controller`);
  }
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(config.horizontalPodAutoscalerTolerance)) {
    const given = JSON.stringify(config.horizontalPodAutoscalerTolerance);
    errors.push(
      `--horizontal-pod-autoscaler-tolerance: ${given} is not a number from 0; use one such as 0.1`,
    );
  }
  if (config.horizontalPodAutoscalerSyncPeriod === 0) {
    errors.push('--horizontal-pod-autoscaler-sync-period: must be greater than 0');
  }
  if (config.serviceClusterIpRange.length > 2) {
    errors.push('--service-cluster-ip-range: at most two ranges, one of each family');
  }
  return errors;
}

/** Any value is accepted; without one the flag is true. */
const IGNORED_OPTIONS: readonly (readonly [string, Options])[] = [...IGNORED_FLAGS].map(([flag, effect]) => [
  flag,
  { description: effectText(effect), group: 'Without effect:', coerce: (value: unknown) => value ?? true },
]);

/** Creates the parser, also used for `--help`. */
export function createParser(argv: readonly string[]): Argv {
  return yargs([...argv])
    .scriptName('control-plane-lite')
    .usage(
      '$0 [flags]\n$0 backup FILE\n$0 restore FILE\n$0 token create|list|delete\n$0 csr list|approve|deny\n$0 certificates list|rotate|finish\n$0 version\n$0 COMMAND --help',
    )
    .options(Object.fromEntries(entries.map(([, setting]) => [setting.flag, option(setting)])))
    .options(Object.fromEntries(IGNORED_OPTIONS))
    .parserConfiguration({
      'boolean-negation': false,
      'camel-case-expansion': false,
      'duplicate-arguments-array': true,
      'greedy-arrays': false,
      'parse-numbers': false,
    })
    .strict()
    .exitProcess(false)
    .version(false)
    .wrap(120);
}

const FLAGS: readonly string[] = [
  ...entries.flatMap(([, setting]) => [setting.flag, ...aliasesOf(setting)]),
  ...IGNORED_FLAGS.keys(),
];

/** Settings that a file may contain, by field. */
const FILE_SETTINGS: ReadonlyMap<string, Setting> = new Map(entries.filter(([key]) => key !== 'config'));

/** Rewords the parser's message about an unknown argument, with a suggestion. */
export function describeProblem(
  message: string,
  argv: readonly string[],
  flags: readonly string[] = FLAGS,
): readonly string[] {
  const unknown = /^Unknown arguments?: (.+)$/.exec(message)?.[1];
  if (unknown === undefined) return [message];
  return unknown.split(', ').map((word) => {
    // The parser takes `--no-x` for the negation of x.
    const flag = [`--${word}`, `--no-${word}`].find((name) =>
      argv.some((given) => given === name || given.startsWith(`${name}=`)),
    );
    if (flag !== undefined) return `${flag}: unknown flag${suggestion(flag.slice(2), flags, '--')}`;
    return `${JSON.stringify(word)}: unknown command${suggestion(word, COMMAND_NAMES)}`;
  });
}

const COMMAND_NAMES = ['backup', 'restore', 'token', 'csr', 'certificates', 'version'];

/** `--no-anonymous-auth` is `--anonymous-auth=false`; other flags may begin with `no-`. */
function negated(word: string): string {
  const match = /^--no-([a-z-]+)$/.exec(word);
  const known = entries.some(([, setting]) => setting.type === 'boolean' && setting.flag === match?.[1]);
  return known ? `--${match?.[1] ?? ''}=false` : word;
}

/** Anonymous clients under AlwaysAllow would have full access; that has to be requested explicitly. */
function anonymousDefault({ authorizationMode: modes }: Readonly<Record<string, unknown>>): boolean {
  return !(Array.isArray(modes) && modes.includes('AlwaysAllow'));
}

/** @throws ConfigError with every error */
export function parseConfig(argv: readonly string[]): ServerConfig {
  const problems: string[] = [];
  const parsed = createParser(argv.map(negated))
    .fail((message: string, error: Error | undefined) => {
      problems.push(
        ...describeProblem(message === '' && error !== undefined ? error.message : message, argv),
      );
    })
    .parseSync();
  const path: unknown = parsed[SETTINGS.config.flag];
  const file = typeof path === 'string' && path !== '' ? readConfigFile(path, FILE_SETTINGS) : undefined;
  problems.push(...(file?.problems ?? []));
  const values: Record<string, unknown> = {};
  for (const [key, setting] of entries) {
    const given = parsed[setting.flag];
    if (given === undefined && file?.values.has(key) === true) {
      values[key] = file.values.get(key);
      continue;
    }
    const result = readSetting(setting, given ?? setting.default);
    if ('problem' in result) problems.push(result.problem);
    else values[key] = result.value;
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const isGiven =
    parsed[SETTINGS.anonymousAuth.flag] !== undefined || file?.values.has('anonymousAuth') === true;
  if (!isGiven) values['anonymousAuth'] = anonymousDefault(values);
  const flags = [...IGNORED_FLAGS.keys()].flatMap((flag) =>
    parsed[flag] === undefined ? [] : [[flag, parsed[flag]] as const],
  );
  values['setInVain'] = new Map<string, unknown>([...(file?.inVain ?? []), ...flags]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one value of its type for each setting of the table
  const config = values as unknown as ServerConfig;
  const conflicts = crossErrors(config);
  if (conflicts.length > 0) throw new ConfigError(conflicts);
  return config;
}

/** Pod security levels of a namespace, from its labels. Pure. Source: PodSecurity, document 2 §2.7;
 *  upstream's pod security admission, release 1.24. */
import type { FieldError } from '#api/meta/field-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

export type Level = 'privileged' | 'baseline' | 'restricted';
export type Mode = 'enforce' | 'audit' | 'warn';

/** A level as it was in a release; its minor number, or the newest. */
export interface LevelVersion {
  readonly level: Level;
  readonly minor: number;
}

export type Policy = Readonly<Record<Mode, LevelVersion>>;

export const MODES = ['enforce', 'audit', 'warn'] as const;
const LEVELS: ReadonlySet<string> = new Set(['privileged', 'baseline', 'restricted']);
export const LATEST: number = Infinity;

type Labels = Readonly<Record<string, string>>;

const labelOf = (mode: Mode, { domain }: Vocabulary): string => `pod-security.${domain}/${mode}`;

const isLevel = (text: string): text is Level => LEVELS.has(text);

function minorOf(text: string): number | undefined {
  if (text === 'latest') return LATEST;
  const found = /^v1\.(0|[1-9][0-9]*)$/.exec(text);
  return found === null ? undefined : Number(found[1]);
}

/** Parses a level with its release from a configuration; `undefined` if it is invalid. */
export function parseLevel(level: string, version: string): LevelVersion | undefined {
  const minor = minorOf(version);
  return isLevel(level) && minor !== undefined ? { level, minor } : undefined;
}

const ANYTHING: LevelVersion = { level: 'privileged', minor: LATEST };
/** Levels without any configuration. */
export const NO_POLICY: Policy = { enforce: ANYTHING, audit: ANYTHING, warn: ANYTHING };

/** Returns the levels of the labels. Invalid values mean the most restrictive level. `general`: defaults. */
export function policyOf(labels: Labels, vocabulary: Vocabulary, general: Policy = NO_POLICY): Policy {
  const read = (mode: Mode): LevelVersion => {
    const label = labelOf(mode, vocabulary);
    const level = labels[label] ?? general[mode].level;
    const version = labels[`${label}-version`];
    const minor = version === undefined ? general[mode].minor : (minorOf(version) ?? LATEST);
    // An unknown level enforces the most restrictive one, but warnings about it would be useless.
    if (!isLevel(level)) return { level: mode === 'enforce' ? 'restricted' : 'privileged', minor: LATEST };
    return { level, minor };
  };
  return { enforce: read('enforce'), audit: read('audit'), warn: read('warn') };
}

export const isPrivileged = ({ enforce, audit, warn }: Policy): boolean =>
  [enforce, audit, warn].every(({ level }) => level === 'privileged');

/** Validation errors of a namespace's labels. */
export function labelErrors(labels: Labels, vocabulary: Vocabulary): readonly FieldError[] {
  const errorOf = (label: string, value: string, detail: string): FieldError => ({
    kind: 'FieldValueInvalid',
    field: `metadata.labels[${label}]`,
    badValue: value,
    detail,
  });
  return MODES.flatMap((mode) => {
    const label = labelOf(mode, vocabulary);
    const level = labels[label];
    const version = labels[`${label}-version`];
    return [
      ...(level === undefined || isLevel(level)
        ? []
        : [errorOf(label, level, 'must be one of privileged, baseline, restricted')]),
      ...(version === undefined || minorOf(version) !== undefined
        ? []
        : [errorOf(`${label}-version`, version, 'must be "latest" or "v1.x"')]),
    ];
  });
}

/** `restricted:latest`, for people. */
export const formatLevel = ({ level, minor }: LevelVersion): string =>
  `${level}:${minor === LATEST ? 'latest' : `v1.${minor}`}`;

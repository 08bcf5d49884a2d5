/** What is said of a setting or feature gate that is accepted and has no effect. */

/** Why something that can be set has no effect. */
export interface NoEffect {
  /** `ignored`: it has no meaning in this program. `not implemented`: it would have one. */
  readonly state: 'ignored' | 'not implemented';
  /** The reason, or what happens instead: a clause without a full stop. May be empty. */
  readonly why: string;
  /** The value with which the program does what is asked all the same. */
  readonly always?: boolean | string;
}

export const ignored = (why: string, always?: boolean | string): NoEffect => ({
  state: 'ignored',
  why,
  ...(always === undefined ? {} : { always }),
});

export const notImplemented = (why = '', always?: boolean | string): NoEffect => ({
  state: 'not implemented',
  why,
  ...(always === undefined ? {} : { always }),
});

/** `not implemented: always on`. */
export const effectText = ({ state, why }: NoEffect): string => (why === '' ? state : `${state}: ${why}`);

/** Something without effect that the user has set. */
export interface SetInVain {
  /** As the user wrote it, with the place where it needs one. */
  readonly subject: string;
  readonly effect: NoEffect;
}

/** At most two lines: what has no effect because it is not implemented, and what is ignored. */
export function noEffectWarnings(found: readonly SetInVain[]): readonly string[] {
  return (['not implemented', 'ignored'] as const).flatMap((state) => {
    const parts = found
      .filter(({ effect }) => effect.state === state)
      .map(({ subject, effect: { why } }) => (why === '' ? subject : `${subject} (${why})`));
    return parts.length === 0 ? [] : [`Without effect, ${state}: ${parts.join(', ')}`];
  });
}

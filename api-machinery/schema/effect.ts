/** Messages about settings and feature gates that are accepted but have no effect. */

/** Why something that can be set has no effect. */
export interface NoEffect {
  /** `ignored`: not applicable to this program. `not implemented`: applicable, but missing. */
  readonly state: 'ignored' | 'not implemented';
  /** The reason, or what happens instead: a clause without a full stop. May be empty. */
  readonly why: string;
  /** The value that matches the program's fixed behavior. */
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

/** A setting without effect that the user has set. */
export interface SetInVain {
  /** As the user wrote it, with the location if it needs one. */
  readonly subject: string;
  readonly effect: NoEffect;
}

/** Returns at most two lines: the settings that are not implemented, and those that are ignored. */
export function noEffectWarnings(found: readonly SetInVain[]): readonly string[] {
  return (['not implemented', 'ignored'] as const).flatMap((state) => {
    const parts = found
      .filter(({ effect }) => effect.state === state)
      .map(({ subject, effect: { why } }) => (why === '' ? subject : `${subject} (${why})`));
    return parts.length === 0 ? [] : [`Without effect, ${state}: ${parts.join(', ')}`];
  });
}

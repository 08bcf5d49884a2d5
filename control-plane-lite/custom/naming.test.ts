import { describe, expect, test } from 'vitest';
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from '#api/gen/apiextensions-v1.ts';
import { completeNames } from './definition.ts';
import { decideNames, isContested, takenNames } from './naming.ts';

const NOW = '2022-01-01T00:00:09Z';

interface Given {
  readonly uid: string;
  readonly second?: number;
  readonly names?: Partial<CustomResourceDefinitionNames>;
  readonly accepted?: Partial<CustomResourceDefinitionNames>;
  readonly established?: boolean;
}

const namesOf = (
  uid: string,
  names: Partial<CustomResourceDefinitionNames> = {},
): CustomResourceDefinitionNames => ({
  plural: `${uid}s`,
  kind: uid.toUpperCase(),
  ...names,
});

function definition({
  uid,
  second = 0,
  names,
  accepted,
  established = false,
}: Given): CustomResourceDefinition {
  return {
    metadata: { uid, name: `${uid}s.shop.example`, creationTimestamp: `2022-01-01T00:00:0${second}Z` },
    spec: { group: 'shop.example', scope: 'Cluster', names: namesOf(uid, names), versions: [] },
    ...(accepted === undefined
      ? {}
      : {
          status: {
            acceptedNames: completeNames(namesOf(uid, accepted)),
            conditions: established
              ? [{ type: 'Established', status: 'True', lastTransitionTime: '2022-01-01T00:00:01Z' }]
              : [],
          },
        }),
  };
}

function decide(self: Given, others: readonly Given[] = []): readonly string[] {
  const given = definition(self);
  const { acceptedNames, conditions } = decideNames(
    given,
    takenNames(given, [given, ...others.map(definition)], []),
    NOW,
  );
  const shown = conditions.map(({ type, status, reason }) => `${type}=${status} ${reason ?? ''}`.trim());
  return [`${acceptedNames.plural}/${acceptedNames.kind}`, ...shown];
}

describe('decideNames', () => {
  test.each<readonly [string, Given, readonly Given[], readonly string[]]>([
    [
      'accepts unused names',
      { uid: 'a' },
      [],
      ['as/A', 'NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted'],
    ],
    [
      'gives no kind that another one has',
      { uid: 'b', names: { kind: 'A' } },
      [{ uid: 'a', accepted: {} }],
      ['bs/', 'NamesAccepted=False ListKindConflict', 'Established=False NotAccepted'],
    ],
    [
      'gives no short name that is the plural of another one',
      { uid: 'b', names: { shortNames: ['as'] } },
      [{ uid: 'a', accepted: {} }],
      ['bs/B', 'NamesAccepted=False ShortNamesConflict', 'Established=False NotAccepted'],
    ],
    [
      'gives nothing that an older one wants',
      { uid: 'b', second: 2, names: { singular: 'a' } },
      [{ uid: 'a', second: 1 }],
      ['bs/B', 'NamesAccepted=False SingularConflict', 'Established=False NotAccepted'],
    ],
    [
      'gives a name that a younger one wants',
      { uid: 'b', second: 1, names: { singular: 'a' } },
      [{ uid: 'a', second: 2 }],
      ['bs/B', 'NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted'],
    ],
    [
      'leaves an established one unchanged',
      { uid: 'b', names: { shortNames: ['as'] }, accepted: {}, established: true },
      [{ uid: 'a', accepted: {} }],
      ['bs/B', 'Established=True', 'NamesAccepted=False ShortNamesConflict'],
    ],
  ])('%s', (_, self, others, expected) => {
    expect(decide(self, others)).toEqual(expected);
  });

  test('never gives names of built-in resources', () => {
    const given = definition({ uid: 'pod' });
    const builtIn = { plural: 'pods', singular: 'pod', kind: 'Pod', listKind: 'PodList', shortNames: ['po'] };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- names alone are looked at
    const taken = takenNames(given, [], [builtIn as unknown as Parameters<typeof takenNames>[2][number]]);
    expect(decideNames(given, taken, NOW).acceptedNames.plural).toBe('');
  });

  test('comes to the same on every server, whichever names are decided on first', () => {
    const [a, b] = [definition({ uid: 'a' }), definition({ uid: 'b', names: { kind: 'A' } })];
    const accepted = [a, b].map((self) => {
      const { conditions } = decideNames(self, takenNames(self, [a, b], []), NOW);
      return conditions.find(({ type }) => type === 'NamesAccepted')?.status;
    });
    expect(accepted).toEqual(['True', 'False']);
  });

  test('retains the time of an unchanged condition', () => {
    const given = definition({ uid: 'a', accepted: {}, established: true });
    const { conditions } = decideNames(given, takenNames(given, [], []), NOW);
    const again = decideNames(
      { ...given, status: { ...given.status, conditions } },
      takenNames(given, [], []),
      'later',
    );
    expect(again.conditions).toEqual(conditions);
  });
});

describe('isContested', () => {
  test('only while no names are accepted', () => {
    const self = definition({ uid: 'b', names: { kind: 'A' } });
    expect(isContested(self, [self, definition({ uid: 'a' })])).toBe(true);
    expect(isContested(self, [self, definition({ uid: 'a', accepted: {} })])).toBe(false);
    expect(isContested(self, [self, definition({ uid: 'c' })])).toBe(false);
    expect(
      isContested(definition({ uid: 'b', names: { kind: 'A' }, accepted: {} }), [definition({ uid: 'a' })]),
    ).toBe(false);
  });
});

import { describe, expect, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { encodeContinue } from './continue-token.ts';
import { decideGet, decideList, decideWatch, type StateRequest } from './list-semantics.ts';

const { apiGroupDomain } = VOCABULARIES.plat;
const TOKEN = encodeContinue({ revision: 7, after: 'default/web' }, apiGroupDomain);

function outcome(decide: () => unknown): unknown {
  try {
    return decide();
  } catch (error) {
    return error instanceof StatusError ? `${error.code} ${error.message}` : error;
  }
}

const invalid = (...errors: readonly string[]): unknown =>
  expect.stringMatching(
    new RegExp(
      `^422 ListOptions\\.meta\\..* "" is invalid: .*${errors.map((fieldError) => RegExp.escape(fieldError)).join('.*')}`,
    ),
  );
const EXACT_OF_0 = invalid(
  'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
);
const NO_VERSION = invalid(
  'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
);
const WITH_TOKEN = invalid(
  'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
);

const NEWEST = { kind: 'newest' };
const ANY = { kind: 'any' };
const NOT_OLDER = { kind: 'notOlderThan', revision: 5 };
const EXACT = { kind: 'exact', revision: 5 };
const CONTINUE = { kind: 'continue', revision: 7, after: 'default/web' };

describe('decideList', () => {
  const unset: StateRequest = {};
  const limit: StateRequest = { limit: 2 };
  const token: StateRequest = { limit: 2, continue: TOKEN };
  const exact: StateRequest = { resourceVersionMatch: 'Exact' };
  const notOlder: StateRequest = { resourceVersionMatch: 'NotOlderThan' };

  // The table of document 1 §4.6: parameters, then the outcome without a version, with 0, and with another.
  test.each<[string, StateRequest, unknown, unknown, unknown]>([
    ['no match, no limit', unset, NEWEST, ANY, NOT_OLDER],
    ['no match, limit', limit, NEWEST, ANY, EXACT],
    [
      'no match, limit and token',
      token,
      CONTINUE,
      CONTINUE,
      '400 specifying resource version is not allowed when using continue',
    ],
    [
      'no match, token alone',
      { continue: TOKEN },
      CONTINUE,
      CONTINUE,
      '400 specifying resource version is not allowed when using continue',
    ],
    ['Exact, no limit', exact, NO_VERSION, EXACT_OF_0, EXACT],
    ['Exact, limit', { ...exact, limit: 2 }, NO_VERSION, EXACT_OF_0, EXACT],
    ['NotOlderThan, no limit', notOlder, NO_VERSION, ANY, NOT_OLDER],
    ['NotOlderThan, limit', { ...notOlder, limit: 2 }, NO_VERSION, ANY, NOT_OLDER],
    ['Exact, token', { ...exact, ...token }, WITH_TOKEN, WITH_TOKEN, WITH_TOKEN],
    ['NotOlderThan, token', { ...notOlder, ...token }, WITH_TOKEN, WITH_TOKEN, WITH_TOKEN],
    ['a limit of 0', { limit: 0 }, NEWEST, ANY, NOT_OLDER],
    ['a limit below 0', { limit: -1 }, NEWEST, ANY, NOT_OLDER],
    ['empty parameters', { resourceVersionMatch: '', continue: '' }, NEWEST, ANY, NOT_OLDER],
  ])('%s', (_what, request, none, zero, other) => {
    const decide = (resourceVersion: string): unknown =>
      outcome(() => decideList({ ...request, resourceVersion }, apiGroupDomain));
    expect(outcome(() => decideList(request, apiGroupDomain))).toEqual(none);
    expect(decide('')).toEqual(none);
    expect(decide('0')).toEqual(zero);
    expect(decide('5')).toEqual(other);
  });

  test.each<[string, StateRequest, unknown]>([
    [
      'an unknown match',
      { resourceVersion: '5', resourceVersionMatch: 'Newer' },
      invalid(
        'resourceVersionMatch: Unsupported value: "Newer": supported values: "Exact", "NotOlderThan", ""',
      ),
    ],
    [
      'several errors at once',
      { resourceVersionMatch: 'x' },
      invalid('[resourceVersionMatch: ', ', resourceVersionMatch: '),
    ],
    [
      'initial events',
      { sendInitialEvents: true },
      invalid('sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'),
    ],
    [
      'a version that is no number',
      { resourceVersion: 'abc' },
      expect.stringMatching(/^400 invalid resource version/),
    ],
    ['a negative version', { resourceVersion: '-1' }, expect.stringMatching(/^400 invalid resource version/)],
    [
      'a version out of range',
      { resourceVersion: '18446744073709551616' },
      expect.stringMatching(/^400 invalid/),
    ],
    ['a token that is none', { continue: 'abc' }, expect.stringMatching(/^400 invalid continue token: /)],
  ])('rejects %s', (_what, request, message) => {
    expect(outcome(() => decideList(request, apiGroupDomain))).toEqual(message);
  });

  test('takes a version that no store can have for one to come', () => {
    const decision = decideList({ resourceVersion: '18446744073709551615' }, apiGroupDomain);
    expect(decision).toEqual({ kind: 'notOlderThan', revision: Number.MAX_SAFE_INTEGER });
  });

  test('continues at the newest state with an inconsistent token', () => {
    const request = { continue: encodeContinue({ after: 'a/b' }, apiGroupDomain) };
    expect(decideList(request, apiGroupDomain)).toEqual({ kind: 'continue', after: 'a/b' });
  });
});

describe('decideGet', () => {
  test.each([
    [undefined, NEWEST],
    ['', NEWEST],
    ['0', ANY],
    ['00', ANY],
    ['5', NOT_OLDER],
    ['x', expect.stringMatching(/^400 invalid resource version/)],
  ])('of version %s', (resourceVersion, expected) => {
    const request = resourceVersion === undefined ? {} : { resourceVersion };
    expect(outcome(() => decideGet(request))).toEqual(expected);
  });
});

describe('decideWatch', () => {
  const initial = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
  const later = { ...initial, sendInitialEvents: false };
  const bookmarks = { allowWatchBookmarks: true };
  const state = (at: unknown, markInitialEnd = false): unknown => ({ kind: 'state', at, markInitialEnd });
  const changes = (at: unknown): unknown => ({ kind: 'changes', at });
  const REVISION = { kind: 'revision', revision: 5 };
  const NEEDS_EVENTS = invalid(
    'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
  );
  const NEEDS_MATCH = invalid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');

  test.each<[string, Parameters<typeof decideWatch>[0], unknown, unknown, unknown]>([
    ['nothing else', {}, state(NEWEST), state(ANY), REVISION],
    ['bookmarks', bookmarks, state(NEWEST), state(ANY), REVISION],
    ['a limit', { limit: 2 }, state(NEWEST), state(ANY), REVISION],
    ['initial events', initial, state(NEWEST), state(ANY), state(NOT_OLDER)],
    [
      'initial events and bookmarks',
      { ...initial, ...bookmarks },
      state(NEWEST, true),
      state(ANY, true),
      state(NOT_OLDER, true),
    ],
    ['no initial events', later, changes(NEWEST), changes(ANY), REVISION],
    [
      'a match without initial events',
      { resourceVersionMatch: 'NotOlderThan' },
      NEEDS_EVENTS,
      NEEDS_EVENTS,
      NEEDS_EVENTS,
    ],
    ['initial events without a match', { sendInitialEvents: true }, NEEDS_MATCH, NEEDS_MATCH, NEEDS_MATCH],
    [
      'no initial events without a match',
      { sendInitialEvents: false },
      NEEDS_MATCH,
      NEEDS_MATCH,
      NEEDS_MATCH,
    ],
    [
      'initial events and Exact',
      { ...initial, resourceVersionMatch: 'Exact' },
      NEEDS_MATCH,
      NEEDS_MATCH,
      NEEDS_MATCH,
    ],
    ['initial events and a token', { ...initial, continue: TOKEN }, WITH_TOKEN, WITH_TOKEN, WITH_TOKEN],
  ])('with %s', (_what, request, none, zero, other) => {
    const decide = (resourceVersion: string): unknown =>
      outcome(() => decideWatch({ ...request, resourceVersion }, apiGroupDomain));
    expect(outcome(() => decideWatch(request, apiGroupDomain))).toEqual(none);
    expect(decide('0')).toEqual(zero);
    expect(decide('5')).toEqual(other);
  });

  test('rejects a version that is not a number', () => {
    expect(outcome(() => decideWatch({ resourceVersion: 'x' }, apiGroupDomain))).toMatch(/^400 /);
  });
});

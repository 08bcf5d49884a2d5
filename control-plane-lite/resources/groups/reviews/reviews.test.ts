import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type ErrorRow, errorsOf, type KindSubject } from '../kind.fixture.ts';
import {
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
} from './access-review.ts';
import { tokenReview } from './token-review.ts';

const { apiGroupDomain } = VOCABULARIES.plat;
const typeRef = (kind: string): string => `authorization.${apiGroupDomain}/v1.${kind}`;
const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' };
const nonResourceAttributes = { verb: 'get', path: '/' };
const NONE = { 'spec.resourceAttributes': undefined };
const BOTH = { 'spec.nonResourceAttributes': nonResourceAttributes };
const EMPTY = { metadata: {} };

const ATTRIBUTES: readonly ErrorRow[] = [
  ['is right', EMPTY, []],
  ['of nothing', { ...EMPTY, ...NONE }, ['spec.resourceAttributes Invalid']],
  ['with what the server sets', { metadata: { uid: 'u', creationTimestamp: '2026-11-21T11:59:00Z' } }, []],
];

describe('a review of access', () => {
  const subject: KindSubject = {
    typeRef: typeRef('SubjectAccessReview'),
    entry: subjectAccessReview,
    base: { spec: { user: 'u', resourceAttributes } },
  };
  test.each<ErrorRow>([
    ...ATTRIBUTES,
    ['of a path', { ...EMPTY, ...NONE, ...BOTH }, []],
    ['of both', { ...EMPTY, ...BOTH }, ['spec.nonResourceAttributes Invalid']],
    ['without a user', { ...EMPTY, 'spec.user': '' }, ['spec.user Invalid']],
    ['of a group', { ...EMPTY, 'spec.user': '', 'spec.groups': ['g'] }, []],
    ['with metadata', { metadata: { name: 'a' } }, ['metadata Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

describe("a review of one's own access", () => {
  const subject: KindSubject = {
    typeRef: typeRef('SelfSubjectAccessReview'),
    entry: selfSubjectAccessReview,
    base: { spec: { resourceAttributes } },
  };
  test.each<ErrorRow>([
    ...ATTRIBUTES,
    ['of both', { ...EMPTY, ...BOTH }, ['spec.nonResourceAttributes Invalid']],
    ['with metadata', { metadata: { name: 'a' } }, ['metadata Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

describe('a review of access in a namespace', () => {
  const subject: KindSubject = {
    typeRef: typeRef('LocalSubjectAccessReview'),
    entry: localSubjectAccessReview,
    base: { spec: { user: 'u', resourceAttributes } },
  };
  test.each<ErrorRow>([
    ...ATTRIBUTES,
    ['with its namespace', { metadata: { namespace: 'default' } }, []],
    [
      'of another namespace',
      { ...EMPTY, 'spec.resourceAttributes.namespace': 'other' },
      ['spec.resourceAttributes.namespace Invalid'],
    ],
    ['of a path', { ...EMPTY, ...NONE, ...BOTH }, ['spec.nonResourceAttributes Invalid']],
    ['without a user', { ...EMPTY, 'spec.user': '' }, ['spec.user Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

describe('a review of rules', () => {
  const subject: KindSubject = {
    typeRef: typeRef('SelfSubjectRulesReview'),
    entry: selfSubjectRulesReview,
    base: { spec: { namespace: 'default' } },
  };
  test.each<ErrorRow>([
    ['is right', {}, []],
    ['of nowhere', { 'spec.namespace': '' }, ['spec.namespace Required']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

describe('a review of a token', () => {
  const subject: KindSubject = {
    typeRef: `authentication.${apiGroupDomain}/v1.TokenReview`,
    entry: tokenReview,
    base: { spec: { token: 't' } },
  };
  test.each<ErrorRow>([
    ['is right', {}, []],
    ['of none', { 'spec.token': '' }, ['spec.token Required']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));
});

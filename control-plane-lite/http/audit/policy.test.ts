import { describe, expect, test } from 'vitest';
import { parseRequestInfo, splitTarget } from '../request/request-info.ts';
import { type AuditLevel, AuditPolicyError, parseAuditPolicy, scopeFor } from './policy.ts';

const policy = (rules: readonly object[], more: object = {}): unknown => ({
  apiVersion: 'audit.example.org/v1',
  kind: 'Policy',
  rules,
  ...more,
});

const jane = { name: 'jane', groups: ['devs'], extra: {} };

function levelOf(rules: readonly object[], method: string, target: string): AuditLevel {
  const { path, query } = splitTarget(target);
  const info = parseRequestInfo(method, path, new URLSearchParams(query));
  return scopeFor(parseAuditPolicy(policy(rules), 'example.org'), info, jane).level;
}

const pod = '/api/v1/namespaces/n/pods/p';

describe('scopeFor', () => {
  const rows: readonly (readonly [
    name: string,
    rule: object,
    method: string,
    target: string,
    matches: boolean,
  ])[] = [
    ['everything', {}, 'GET', pod, true],
    ['the user', { users: ['joe', 'jane'] }, 'GET', pod, true],
    ['another user', { users: ['joe'] }, 'GET', pod, false],
    ['a group', { userGroups: ['devs'] }, 'GET', pod, true],
    ['another group', { userGroups: ['ops'] }, 'GET', pod, false],
    ['the verb', { verbs: ['get'] }, 'GET', pod, true],
    ['another verb', { verbs: ['list'] }, 'GET', pod, false],
    ['the namespace', { namespaces: ['n'] }, 'GET', pod, true],
    ['another namespace', { namespaces: ['m'] }, 'GET', pod, false],
    ['objects without namespace', { namespaces: [''] }, 'GET', '/api/v1/nodes', true],
    ['namespaces, given a path', { namespaces: [''] }, 'GET', '/healthz', false],
    ['a whole group', { resources: [{ group: '' }] }, 'GET', pod, true],
    ['another group of resources', { resources: [{ group: 'apps' }] }, 'GET', pod, false],
    ['the resource', { resources: [{ resources: ['pods'] }] }, 'GET', pod, true],
    ['the resource, given its part', { resources: [{ resources: ['pods'] }] }, 'GET', `${pod}/log`, false],
    ['the part', { resources: [{ resources: ['pods/log'] }] }, 'GET', `${pod}/log`, true],
    ['all parts, and the resource with them', { resources: [{ resources: ['pods/*'] }] }, 'GET', pod, true],
    ['all parts', { resources: [{ resources: ['pods/*'] }] }, 'GET', `${pod}/log`, true],
    ['a part of anything', { resources: [{ resources: ['*/log'] }] }, 'GET', `${pod}/log`, true],
    ['a part of anything, given the whole', { resources: [{ resources: ['*/log'] }] }, 'GET', pod, false],
    ['any resource', { resources: [{ resources: ['*'] }] }, 'GET', `${pod}/log`, true],
    ['the name', { resources: [{ resources: ['pods'], resourceNames: ['p'] }] }, 'GET', pod, true],
    ['another name', { resources: [{ resources: ['pods'], resourceNames: ['q'] }] }, 'GET', pod, false],
    ['resources, given a path', { resources: [{ group: '' }] }, 'GET', '/version', false],
    ['the path', { nonResourceURLs: ['/version'] }, 'GET', '/version', true],
    ['paths below', { nonResourceURLs: ['/healthz*'] }, 'GET', '/healthz/ping', true],
    ['any path', { nonResourceURLs: ['*'] }, 'GET', '/version', true],
    ['another path', { nonResourceURLs: ['/version'] }, 'GET', '/versions', false],
    ['paths, given a resource', { nonResourceURLs: ['*'] }, 'GET', pod, false],
  ];
  test.each(rows)('a rule for %s', (_name, rule, method, target, matches) => {
    expect(levelOf([{ level: 'Request', ...rule }], method, target)).toBe(matches ? 'Request' : 'None');
  });

  test('the first rule that matches decides', () => {
    const rules = [
      { level: 'None', users: ['joe'] },
      { level: 'Metadata', resources: [{ group: '', resources: ['secrets'] }] },
      { level: 'RequestResponse' },
    ];
    expect(levelOf(rules, 'GET', '/api/v1/namespaces/n/secrets/s')).toBe('Metadata');
    expect(levelOf(rules, 'GET', pod)).toBe('RequestResponse');
  });

  test('stages are left out by the policy and by the rule, managed fields by the more exact', () => {
    const parsed = parseAuditPolicy(
      policy([{ level: 'Request', omitStages: ['ResponseStarted'], omitManagedFields: false }], {
        omitStages: ['RequestReceived'],
        omitManagedFields: true,
      }),
      'example.org',
    );
    const scope = scopeFor(parsed, parseRequestInfo('GET', pod, undefined), jane);
    expect(scope).toEqual({
      level: 'Request',
      omitStages: new Set(['RequestReceived', 'ResponseStarted']),
      omitManagedFields: false,
    });
  });
});

describe('parseAuditPolicy', () => {
  const errors: readonly (readonly [value: unknown, error: RegExp])[] = [
    ['text', /must be an object/],
    [{}, /apiVersion must be audit\.example\.org\/v1; kind must be Policy; rules must not be empty/],
    [policy([{ level: 'All' }]), /rules\[0\]\.level must be one of/],
    [policy([{ level: 'None', users: 'jane' }]), /rules\[0\]\.users must be a list/],
    [policy([{ level: 'None', verbs: [1] }]), /rules\[0\]\.verbs must be a list of texts/],
    [policy([{ level: 'None', omitStages: ['End'] }]), /omitStages must be of/],
    [policy([{ level: 'None', omitManagedFields: 'yes' }]), /omitManagedFields must be/],
    [policy([{ level: 'None', nonResourceURLs: ['healthz'] }]), /must begin with \//],
    [policy([{ level: 'None', nonResourceURLs: ['/a*b'] }]), /may end with \*/],
    [policy([{ level: 'None', nonResourceURLs: ['/a'], namespaces: ['n'] }]), /can't stand beside/],
    [policy([{ level: 'None', resources: [{ group: 'apps/v1' }] }]), /resources\[0\]\.group must not/],
    [policy([{ level: 'None', resources: [{ resourceNames: ['a'] }] }]), /resourceNames need resources/],
    [policy([null as unknown as object]), /rules must be a list of objects/],
  ];
  test.each(errors)('rejects %j', (value, error) => {
    expect(() => parseAuditPolicy(value, 'example.org')).toThrow(AuditPolicyError);
    expect(() => parseAuditPolicy(value, 'example.org')).toThrow(error);
  });
});

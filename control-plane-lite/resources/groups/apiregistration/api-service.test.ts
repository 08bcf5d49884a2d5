import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { created, type ErrorRow, errorsOf, type KindSubject, rowOf } from '../kind.fixture.ts';
import { apiService } from './api-service.ts';

describe('an API service', () => {
  const service = { namespace: 'n', name: 's', port: 443 };
  const subject: KindSubject = {
    typeRef: `apiregistration.${VOCABULARIES.plat.apiGroupDomain}/v1.APIService`,
    entry: apiService,
    base: {
      metadata: { name: 'v1.example.com', creationTimestamp: '2026-11-21T11:59:00Z' },
      spec: { group: 'example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, service },
    },
  };
  const LOCAL = { 'spec.service': undefined };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['of this server', LOCAL, []],
    ['with another name', { 'metadata.name': 'v2.example.com' }, ['metadata.name Invalid']],
    ['of the core group', { ...LOCAL, 'metadata.name': 'v1.', 'spec.group': '' }, []],
    [
      'of no group',
      { 'metadata.name': 'v2.', 'spec.group': '', 'spec.version': 'v2' },
      ['spec.group Required'],
    ],
    [
      'of a broken group',
      { 'metadata.name': 'V1._', 'spec.group': '_', 'spec.version': 'V1' },
      ['spec.group Invalid', 'spec.version Invalid'],
    ],
    ['of no version', { 'metadata.name': '.example.com', 'spec.version': '' }, ['spec.version Required']],
    [
      'of no priority',
      { 'spec.groupPriorityMinimum': 0, 'spec.versionPriority': 0 },
      ['spec.groupPriorityMinimum Invalid', 'spec.versionPriority Invalid'],
    ],
    [
      'of too much priority',
      { 'spec.groupPriorityMinimum': 20_001, 'spec.versionPriority': 1001 },
      ['spec.groupPriorityMinimum Invalid', 'spec.versionPriority Invalid'],
    ],
    [
      'of this server with TLS',
      { ...LOCAL, 'spec.caBundle': 'eA==', 'spec.insecureSkipTLSVerify': true },
      ['spec.caBundle Invalid', 'spec.insecureSkipTLSVerify Invalid'],
    ],
    [
      'both sure and unsure',
      { 'spec.caBundle': 'eA==', 'spec.insecureSkipTLSVerify': true },
      ['spec.insecureSkipTLSVerify Invalid'],
    ],
    [
      'at no service',
      { 'spec.service': { port: 0 } },
      ['spec.service.namespace Required', 'spec.service.name Required', 'spec.service.port Invalid'],
    ],
    ['without spec', { spec: undefined }, ['spec Required']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('of this server is there at once', () => {
    expect(created(subject)['status']).toEqual({});
    expect(created(subject, LOCAL)['status']).toEqual({
      conditions: [
        {
          type: 'Available',
          status: 'True',
          lastTransitionTime: '2026-11-21T12:00:00Z',
          reason: 'Local',
          message: 'Local APIServices are always available',
        },
      ],
    });
  });

  it('has a row', () => {
    const available = (status: string): object => ({
      status: { conditions: [{ type: 'Available', status, reason: 'Why' }] },
    });
    expect(rowOf(subject)).toEqual(['v1.example.com', 'n/s', 'Unknown', '60s']);
    expect(rowOf(subject, { ...LOCAL, ...available('True') }).slice(1, 3)).toEqual(['Local', 'True']);
    expect(rowOf(subject, { ...available('False') })[2]).toBe('False (Why)');
  });
});

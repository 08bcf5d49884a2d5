import { expect, test } from 'vitest';
import { impersonationHeaders } from './impersonation.ts';

test('impersonationHeaders encodes names of extra values and keeps lists', () => {
  const headers = impersonationHeaders({
    user: 'jürgen',
    uid: '7',
    groups: ['a', 'b'],
    extra: { 'acme.com/x%y': ['1', '2'], none: [] },
  });
  expect(headers).toEqual({
    'impersonate-user': [Buffer.from('jürgen').toString('latin1')],
    'impersonate-uid': ['7'],
    'impersonate-group': ['a', 'b'],
    'impersonate-extra-acme.com%2Fx%25y': ['1', '2'],
  });
});

test('impersonationHeaders of a user alone', () => {
  expect(impersonationHeaders({ user: 'a', uid: '', groups: [], extra: {} })).toEqual({
    'impersonate-user': ['a'],
  });
});

import { describe, expect, test } from 'vitest';
import { userHeaders } from './user-headers.ts';

describe('userHeaders', () => {
  test('has a header for each group and each value', () => {
    const extra = { scopes: ['a', 'b'], 'example.com/é%': ['1'] };
    expect(userHeaders({ name: 'jané', groups: ['x', 'y'], extra })).toEqual({
      'X-Remote-User': [Buffer.from('jané').toString('latin1')],
      'X-Remote-Group': ['x', 'y'],
      'X-Remote-Extra-scopes': ['a', 'b'],
      'X-Remote-Extra-example.com%2F%C3%A9%25': ['1'],
    });
    expect(userHeaders({ name: 'jane', groups: [], extra: {} })).toEqual({ 'X-Remote-User': ['jane'] });
  });

  test.each(['admin ', ' admin', 'admin\r\nX-Remote-Group: system:masters', 'a\u0000', '\tadmin'])(
    'rejects %j, which would arrive as another user',
    (name) => {
      expect(() => userHeaders({ name, groups: [], extra: {} })).toThrow('cannot be forwarded');
      expect(() => userHeaders({ name: 'x', groups: [name], extra: {} })).toThrow('cannot be forwarded');
      expect(() => userHeaders({ name: 'x', groups: [], extra: { k: [name] } })).toThrow(
        'cannot be forwarded',
      );
    },
  );
});

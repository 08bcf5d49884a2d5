import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRedactor, REDACTED, redactText } from './redact.ts';

const redact = createRedactor();

describe('redaction', () => {
  test('retains what a report needs', () => {
    const pod = {
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        containers: [{ name: 'main', image: 'web:1', ports: [{ containerPort: 80 }] }],
        nodeName: 'n1',
      },
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    };
    expect(redact(pod)).toEqual(pod);
  });

  test.each(['env', 'args', 'command', 'data', 'stringData', 'annotations', 'password', 'badValue'])(
    'the member %s is redacted with everything in it',
    (name) => {
      expect(redact({ spec: { [name]: [{ name: 'A', value: 'hunter2' }] } })).toEqual({
        spec: { [name]: REDACTED },
      });
    },
  );

  test('secrets in free text are redacted', () => {
    const kind = constantFrom(
      (secret: string) => `pull failed: https://user:${secret}@registry.example/v2`,
      (secret: string) => `https://example.com/?sig=${secret}`,
      (secret: string) => `Authorization: Bearer ${secret}`,
      (secret: string) => `password=${secret}`,
      (secret: string) => `"token": "${secret}"`,
      (secret: string) => `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END`,
    );
    const secret = string({ unit: constantFrom('a', 'b', 'X', 'Y', '0', '9'), minLength: 8, maxLength: 40 });
    assert(
      property(kind, secret, (format, text) => {
        expect(redactText(`before ${format(text)} after`)).not.toContain(text);
        expect(redactText(`before ${format(text)}`)).toContain('before ');
      }),
    );
  });
});

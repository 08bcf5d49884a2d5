import { assert, constantFrom, jsonValue, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonPathError } from '#api/meta/json-path-parser.ts';
import { parseRelaxedPath, parseTemplate, renderTemplate } from './jsonpath-template.ts';

const LIST = {
  kind: 'List',
  items: [
    {
      metadata: { name: 'web', labels: { 'app.example/tier': 'front' } },
      spec: { replicas: 2, ports: [80, 443] },
    },
    { metadata: { name: 'db' }, spec: { replicas: 1, ports: [5432] } },
  ],
};

const render = (text: string, value: unknown = LIST): string => renderTemplate(parseTemplate(text), value);

describe('templates', () => {
  test.each([
    ['{.kind}', 'List'],
    ['{$.kind}', 'List'],
    ['{@.kind}', 'List'],
    ['kind is {.kind}', 'kind is List'],
    ['.kind', '.kind'],
    ['{.items[*].metadata.name}', 'web db'],
    ['{.items[0].spec}', '{"replicas":2,"ports":[80,443]}'],
    ['{.items[*].spec.ports[*]}', '80 443 5432'],
    ['{.items[?(@.spec.replicas>1)].metadata.name}', 'web'],
    ["{.items[0].metadata.labels['app\\.example/tier']}", 'front'],
    ['{.items[0].missing}', ''],
    ['{range .items[*]}{.metadata.name}{"\\n"}{end}', 'web\ndb\n'],
    ['{range .items[*]}{$.kind}/{.metadata.name}{"\\t"}{end}', 'List/web\tList/db\t'],
    ["{range .items[*]}{range .spec.ports[*]}{@}{','}{end}{';'}{end}", '80,443,;5432,;'],
    ['{"}"}{\'{"\'}', '}{"'],
    ['', ''],
  ])('%s prints %j', (text, expected) => {
    expect(render(text)).toBe(expected);
  });

  test.each([
    ['{.a', /has no "}"/],
    ['{end}', /without \{range/],
    ['{range .items[*]}{.a}', /without \{end\}/],
    ['{"a" .b}', /not a single quoted text/],
    ['{.a[}', /expected/],
    ['{range .a}'.repeat(9), /nested too deeply/],
    ['x'.repeat(16_385), /at most/],
  ])('%s is invalid', (text, message) => {
    expect(() => parseTemplate(text)).toThrow(message);
    expect(() => parseTemplate(text)).toThrow(JsonPathError);
  });

  test('text without braces is printed unchanged', () => {
    assert(
      property(string({ maxLength: 50 }), (text) => {
        const plain = text.replaceAll('{', '(');
        expect(render(plain)).toBe(plain);
      }),
    );
  });

  test('a quoted text is printed unchanged', () => {
    assert(
      property(string({ maxLength: 50 }), (text) => {
        const quoted = `{"${text.replaceAll(/[\\"]/g, (character) => `\\${character}`)}"}`;
        expect(render(quoted)).toBe(text);
      }),
    );
  });

  test('a loop prints what its elements print one by one', () => {
    assert(
      property(jsonValue(), jsonValue(), (a, b) => {
        const each = [a, b].map((value) => render('<{@}>', value)).join('');
        expect(render('{range [*]}<{@}>{end}', [a, b])).toBe(each);
      }),
    );
  });

  test('any text is a template or an error', () => {
    const unit = constantFrom('{', '}', 'range ', 'end', '.a', '[*]', '"', "'", '\\', '$', '@', ' ');
    const outcome = (text: string, value: unknown): unknown => {
      try {
        return typeof render(text, value);
      } catch (thrown) {
        return thrown instanceof JsonPathError ? 'string' : thrown;
      }
    };
    assert(
      property(string({ unit, maxLength: 20 }), jsonValue(), (text, value) => {
        expect(outcome(text, value)).toBe('string');
      }),
    );
  });
});

describe('relaxed paths', () => {
  test.each([
    '{.metadata.name}',
    '.metadata.name',
    'metadata.name',
    '{ $.metadata.name }',
    '$.metadata.name',
  ])('%s is a path', (text) => {
    expect([...parseRelaxedPath(text).find(LIST.items[0])]).toEqual(['web']);
  });
});

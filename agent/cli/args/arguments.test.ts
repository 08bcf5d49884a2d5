import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { parseArguments, parseChoice, parseCount } from './arguments.ts';

const options = {
  namespace: { type: 'string', short: 'n', value: 'NAME', help: '' },
  follow: { type: 'boolean', short: 'f', help: '' },
  tty: { type: 'boolean', short: 't', help: '' },
  tail: { type: 'string', help: '' },
  filename: { type: 'string', multiple: true, help: '' },
} as const;

const parse = (line: string, hint?: string) => parseArguments(line.split(' ').filter(Boolean), options, hint);

describe('parseArguments', () => {
  test.each([
    { line: '-n web pod', namespace: 'web', positionals: ['pod'] },
    { line: '-nweb', namespace: 'web', positionals: [] },
    { line: '-n=web', namespace: 'web', positionals: [] },
    { line: '--namespace web a b', namespace: 'web', positionals: ['a', 'b'] },
    { line: '--namespace=web', namespace: 'web', positionals: [] },
    { line: 'a --namespace=a=b', namespace: 'a=b', positionals: ['a'] },
    { line: '-n one -n two', namespace: 'two', positionals: [] },
  ])('reads the value in $line', ({ line, namespace, positionals }) => {
    const args = parse(line);
    expect(args.text('namespace')).toBe(namespace);
    expect(args.positionals).toEqual(positionals);
  });

  test('accepts combined short options', () => {
    const args = parse('-ft');
    expect([args.has('follow'), args.has('tty')]).toEqual([true, true]);
  });

  test('accepts a negative number as a value', () => {
    expect(parse('--tail -1').text('tail')).toBe('-1');
  });

  test('accepts a negated boolean', () => {
    expect(parse('-f --follow=false').has('follow')).toBe(false);
  });

  test('collects all values of a repeated option', () => {
    expect(parse('--filename a --filename b').texts('filename')).toEqual(['a', 'b']);
  });

  test('parses nothing after the two dashes', () => {
    const args = parse('web -- ls -n --bad');
    expect(args.positionals).toEqual(['web']);
    expect(args.rest).toEqual(['ls', '-n', '--bad']);
  });

  test('distinguishes two dashes at the end from none', () => {
    expect(parse('web --').rest).toEqual([]);
    expect(parse('web').rest).toBeUndefined();
  });

  test.each([
    { line: '--folow', message: /unknown option --folow; did you mean --follow\?/ },
    { line: '-x', message: /^unknown option -x$/ },
    { line: '--tail', message: /--tail requires a value: VALUE/ },
    { line: '-n', message: /-n requires a value: NAME/ },
    { line: '--follow=yes', message: /--follow: invalid value "yes": must be true or false/ },
    { line: '--__proto__=x', message: /unknown option/ },
    { line: '--constructor', message: /unknown option/ },
  ])('rejects $line', ({ line, message }) => {
    expect(() => parse(line)).toThrow(message);
    expect(() => parse(line)).toThrow(UsageError);
  });

  test('appends the hint to an option without a similar name', () => {
    expect(() => parse('-x', 'put it elsewhere')).toThrow('unknown option -x; put it elsewhere');
  });
});

describe('parseCount', () => {
  test.each(['-1', '1.5', '', 'x', '1e3', '9999999999'])('refuses %j', (text) => {
    expect(() => parseCount('--tail', text)).toThrow(UsageError);
  });

  test('reads whole numbers', () => {
    expect(parseCount('--tail', '0')).toBe(0);
    expect(parseCount('--tail', '120')).toBe(120);
    expect(parseCount('--tail', undefined)).toBeUndefined();
  });
});

describe('parseChoice', () => {
  test('names the choices', () => {
    expect(parseChoice('-o', 'yaml', ['json', 'yaml'])).toBe('yaml');
    expect(() => parseChoice('-o', 'xml', ['json', 'yaml'])).toThrow(
      '-o: invalid value "xml": must be one of json, yaml',
    );
  });
});

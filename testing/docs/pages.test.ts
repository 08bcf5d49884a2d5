/** Pages of the documentation: their links lead somewhere, their manifests are valid, and the README lists them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../durations.ts';
import { blocksOf } from './blocks.ts';

const LINK = /\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g;
/** Found through other pages. */
const UNLISTED = new Set(['docs/layers.md', 'docs/flow.md']);

const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

const linksOf = (text: string): readonly string[] =>
  [...text.matchAll(LINK)].map(([, target = '']) => target);

describe.each(pages)('%s', (page) => {
  const text = textOf(page);

  test('has no broken link', () => {
    const broken = linksOf(text).filter((target) => !existsSync(join(ROOT, dirname(page), target)));
    expect(broken).toEqual([]);
  });

  test('has YAML that can be read', () => {
    const errors = blocksOf(text)
      .filter(({ language }) => language === 'yaml')
      .flatMap(({ text: yaml, line }) =>
        parseAllDocuments(yaml).flatMap((document) =>
          'errors' in document ? document.errors.map(({ message }) => `line ${line}: ${message}`) : [],
        ),
      );
    expect(errors).toEqual([]);
  });
});

test('the README lists every page', () => {
  const listed = new Set(linksOf(textOf('README.md')));
  const missing = pages.filter((page) => page !== 'README.md' && !listed.has(page) && !UNLISTED.has(page));
  expect(missing).toEqual([]);
});

test('broken links are found', () => {
  expect(linksOf('[a](b.md#c), [d](https://x/y), [e](f/)')).toEqual(['b.md', 'f/']);
});

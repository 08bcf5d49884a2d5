import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { LinkRewriter, linkRewriting, rewriteLink } from './html-links.ts';

const OPTIONS = { prefix: '/p/proxy', hosts: ['10.0.0.1:80', '10.0.0.1', 'server:443'] };

/** The page, passed in chunks of this size. */
async function rewritten(page: string, size = page.length): Promise<string> {
  const bytes = Buffer.from(page);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return text(Readable.from(pieces).pipe(new LinkRewriter(OPTIONS)));
}

describe('a link', () => {
  test.each([
    ['/a/b?c=d#e', '/p/proxy/a/b?c=d#e'],
    ['/', '/p/proxy/'],
    ['/p/proxy/a', '/p/proxy/a'],
    ['/p/proxy', '/p/proxy'],
    ['/p/proxyother', '/p/proxy/p/proxyother'],
    ['a/b', 'a/b'],
    ['../a', '../a'],
    ['#top', '#top'],
    ['?q', '?q'],
    ['', ''],
    ['http://10.0.0.1:80/x', '/p/proxy/x'],
    ['HTTP://10.0.0.1', '/p/proxy/'],
    ['//10.0.0.1?x', '/p/proxy/?x'],
    ['https://SERVER:443/p/proxy/x', 'https://SERVER:443/p/proxy/x'],
    ['https://elsewhere/x', 'https://elsewhere/x'],
    ['//elsewhere/x', '//elsewhere/x'],
    ['mailto:a@b', 'mailto:a@b'],
    ['javascript:void(0)', 'javascript:void(0)'],
  ])('%j leads to %j', (link, expected) => expect(rewriteLink(link, OPTIONS)).toBe(expected));
});

const PAGES: readonly (readonly [what: string, page: string, expected: string])[] = [
  ['text', 'a < b > c </p> <3', 'a < b > c </p> <3'],
  ['an element', '<a href="/x">x</a>', '<a href="/p/proxy/x">x</a>'],
  ['other quotes', "<A class=b HREF='/x' id=c>", "<A class=b HREF='/p/proxy/x' id=c>"],
  ['no quotes', '<a href=/x>', '<a href=/p/proxy/x>'],
  ['spaces', '<a\n href\t=\r "/x" >', '<a\n href\t=\r "/p/proxy/x" >'],
  [
    'several',
    '<img src="/a" longdesc="/b" alt="/c">',
    '<img src="/p/proxy/a" longdesc="/p/proxy/b" alt="/c">',
  ],
  ['a form', '<form action="/f"><input src="/i">', '<form action="/p/proxy/f"><input src="/p/proxy/i">'],
  ['an attribute of another element', '<p href="/x">', '<p href="/x">'],
  ['a bracket in a value', '<a title="a>b" href="/x">', '<a title="a>b" href="/p/proxy/x">'],
  ['a quote that is none', "<a title=it's href=/x>", "<a title=it's href=/p/proxy/x>"],
  ['a comment', '<!-- <a href="/x"> --><a href="/y">', '<!-- <a href="/x"> --><a href="/p/proxy/y">'],
  ['a doctype', '<!doctype html><a href="/x">', '<!doctype html><a href="/p/proxy/x">'],
  [
    'a script',
    '<script src="/s">"<a href=\'/x\'>"</SCRIPT><a href="/y">',
    '<script src="/p/proxy/s">"<a href=\'/x\'>"</SCRIPT><a href="/p/proxy/y">',
  ],
  ['a textarea', '<textarea><a href="/x"></textarea>', '<textarea><a href="/x"></textarea>'],
  ['letters of any alphabet', '<a title="ß→" href="/ä">ß→</a>', '<a title="ß→" href="/p/proxy/ä">ß→</a>'],
  ['what ends within a tag', '<b>x</b><a href="/x', '<b>x</b><a href="/x'],
  ['what ends within a comment', '<!-- <a href="/x">', '<!-- <a href="/x">'],
];

describe('a page', () => {
  test.each(PAGES)('with %s, in pieces of any size', async (_, page, expected) => {
    for (const size of [page.length, 1, 2, 3, 7]) expect(await rewritten(page, size)).toBe(expected);
  });

  test('of any bytes leaves them unchanged, except links', async () => {
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));
    const pieces = Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]);
    const out: Buffer[] = [];
    for await (const part of pieces.pipe(new LinkRewriter(OPTIONS))) out.push(part as Buffer);
    expect(Buffer.concat(out).equals(bytes)).toBe(true);
  });

  test.each([
    ['no tag that ends', '<a '],
    ['a tag that never ends', '<a href="'],
    ['tags', '<a href=/x>'],
    ['comments', '<!--'],
    ['scripts', '<script>'],
    ['ends of scripts', '<script></s'],
    ['attributes', ' ="'],
  ])('of %s takes time that grows with its length alone', async (_, unit) => {
    const msFor = async (bytes: number): Promise<number> => {
      const page = `<script ${unit.repeat(Math.ceil(bytes / unit.length))}`;
      const startMs = performance.now();
      await rewritten(page, 64 * 1024);
      return performance.now() - startMs;
    };
    await msFor(100_000);
    const once = Math.min(await msFor(250_000), await msFor(250_000));
    const fourTimes = Math.min(await msFor(1_000_000), await msFor(1_000_000));
    // Machines are busy; non-linear work takes minutes.
    expect(fourTimes).toBeLessThan(Math.max(once * 10, 1500));
  });
});

test('only pages are rewritten, packed ones as well', async () => {
  const through = async (headers: object, body: Buffer): Promise<Buffer> => {
    let stream: NodeJS.ReadableStream = Readable.from([body]);
    for (const step of linkRewriting({ headers: headers as Record<string, string> }, OPTIONS))
      stream = stream.pipe(step);
    const out: Buffer[] = [];
    for await (const part of stream) out.push(Buffer.from(part));
    return Buffer.concat(out);
  };
  const page = Buffer.from('<a href="/x">');
  const html = { 'content-type': 'text/HTML; charset=utf-8' };
  expect((await through(html, page)).toString()).toBe('<a href="/p/proxy/x">');
  const packed = await through({ ...html, 'content-encoding': 'gzip' }, gzipSync(page));
  expect(gunzipSync(packed).toString()).toBe('<a href="/p/proxy/x">');
  for (const headers of [{}, { 'content-type': 'text/plain' }, { ...html, 'content-encoding': 'br' }]) {
    expect(await through(headers, page)).toEqual(page);
  }
  expect(linkRewriting({ headers: html }, undefined)).toEqual([]);
});

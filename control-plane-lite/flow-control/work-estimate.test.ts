import { describe, expect, test } from 'vitest';
import { finalMs, finalSeats, listSeats } from './work-estimate.ts';

describe('seats of a list', () => {
  test.each<[string, string | undefined, number | undefined, number]>([
    ['of few objects', undefined, 3, 1],
    ['of none', undefined, 0, 1],
    ['of 149 objects, read and returned', undefined, 149, 3],
    ['of very many', undefined, 100_000, 10],
    ['of an unknown resource', undefined, undefined, 1],
    ['a page', 'limit=100', 5000, 2],
    ['a page of more objects than there are', 'limit=500', 100, 2],
    ['a page by labels, for which all are read', 'limit=100&labelSelector=a', 500, 6],
    ['by fields', 'fieldSelector=spec.nodeName%3Da', 200, 4],
    ['from the cache', 'resourceVersion=0', 200, 2],
    ['from the cache, whose limit does not count', 'resourceVersion=0&limit=10', 200, 2],
    ['not older than a version', 'resourceVersion=7', 200, 2],
    ['a page not older than a version', 'resourceVersion=7&limit=10', 200, 1],
    ['exactly at a version', 'resourceVersion=7&resourceVersionMatch=Exact', 200, 4],
    ['a further page', 'resourceVersion=0&continue=x&limit=100', 200, 2],
    ['a limit that is not a number', 'limit=x', 1, 10],
  ])('%s', (_, query, stored, seats) => {
    const parameters = query === undefined ? undefined : new URLSearchParams(query);
    expect(listSeats({ name: '' }, parameters, stored)).toBe(seats);
  });

  test('a list of one name is a get', () => {
    expect(listSeats({ name: 'a' }, undefined, 100_000)).toBe(1);
  });
});

describe('seats for the delivery of an event', () => {
  test.each([
    [0, 0, 0],
    [9, 0, 0],
    [10, 1, 5],
    [25, 3, 5],
    [100, 10, 5],
    [1000, 10, 50],
    [1005, 10, 50.5],
  ])('%i watches: %i seats for %f ms', (watches, seats, ms) => {
    expect([finalSeats(watches), finalMs(watches)]).toEqual([seats, ms]);
  });
});

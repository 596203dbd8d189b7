// The filter language of kwire over rows: comparisons of columns, `not`, `and`, `or`; a word alone is searched.
// A row is a call, so a comparison holds if it holds for the request or for the response.

const UNITS = { us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
const SIZES = { B: 1, KB: 1e3, KIB: 1024, MB: 1e6, MIB: 1048576, GB: 1e9, GIB: 1073741824 };
const TOKEN = /\s*(?:("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(&&|\|\||==|!=|!~|<=|>=|[<>~!(),])|([^\s(),=!<>~&|"']+))/y;
const IGNORES_CASE = new Set(["api", "errors", "kind", "anomalies"]);

/** The values that a filter sees of columns which a call has twice. @type {Record<string, (i: number) => any[]>} */
const OF_HALVES = {
  frame: (i) => [REQUEST[i], RESPONSE[i]],
  size: (i) => [R.values.request_size?.[i], R.values.response_size?.[i]],
  time: (i) => [TIME[i], TIME[i] === null || LATENCY[i] === null ? null : TIME[i] + LATENCY[i]],
  kind: (i) => [REQUEST[i] !== null && "request", RESPONSE[i] !== null && "response", column("kind").read(i)],
};

/** The column with a name, and how to read its values: always a list. @param {string} name */
function read(name) {
  const found = R.columns.find((spec) => spec.name === name || spec.also.includes(name));
  if (OF_HALVES[name]) {
    const of = (i) => OF_HALVES[name](i).filter((one) => one || one === 0);
    return { name, type: name === "size" ? "bytes" : name === "time" ? name : "id", of };
  }
  if (!found) return /^(header|body)?\./.test(name) ? fieldOf(name) : null;
  const { type, read: one } = column(found.name);
  return { name: found.name, type, of: (i) => [one(i) === "" ? null : one(i)].flat() };
}

/** Messages by the numbers of their details, once a filter by fields wants them. @type {any[] | null} */
let messages = null;
let reading = null;
let wantsFields = false;

async function readMessages() {
  const found = [];
  for (let one; $(`#chunk${Math.floor(found.length / CHUNK)}`) && (one = await detail(found.length));)
    found.push(jsonOf(one.nodes));
  messages = found;
  refresh();
}

/** A field: a path from `header` or `body`, or after a dot the end of a path. @param {string} name */
function fieldOf(name) {
  reading ??= R.values.asked_at && readMessages();
  wantsFields = true;
  const path = name.split(".").filter(Boolean);
  const isEnd = name.startsWith(".");
  const isKnown = !messages || messages.some((one) => valuesAt(one, path, isEnd).length);
  if (!isKnown) throw new Error(`no message of this page has the field ${name}`);
  const entries = (i) => [detailAt(i, "asked_at"), detailAt(i, "answered_at")].filter((one) => one !== null);
  const of = (i) => entries(i).flatMap((one) => valuesAt(messages?.[one], path, isEnd));
  return { name, type: "field", of };
}

/** The values at a path, through all elements of arrays. @returns {any[]} */
function valuesAt(value, path, isEnd) {
  if (Array.isArray(value)) return value.flatMap((one) => valuesAt(one, path, isEnd));
  if (!path.length) return [value];
  if (value === null || typeof value !== "object") return [];
  const here = path[0] in value ? valuesAt(value[path[0]], path.slice(1), false) : [];
  return isEnd ? [...here, ...Object.values(value).flatMap((one) => valuesAt(one, path, true))] : here;
}

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim()) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`not understood: ${text.slice(at).trim()}`);
    const [, quoted, operator, word] = match;
    const unquoted = quoted?.slice(1, -1).replace(/\\(["'\\])/g, "$1");
    tokens.push({ operator, word, text: unquoted ?? word ?? operator, isQuoted: quoted !== undefined });
  }
  return tokens;
}

/** The number that a value means for a column; NaN if it is no number. */
function amount(of, token) {
  const [, digits, unit] = token.text.match(/^(-?(?:0x[\da-f]+|[\d.]+))([a-zµ]*)$/i) || [];
  if (token.isQuoted || digits === undefined || digits === "") return NaN;
  if (of.type === "duration")
    return Number(digits) * (unit ? UNITS[unit.toLowerCase()] : of.name.endsWith("_us") ? 1e-6 : 1e-3);
  return Number(digits) * (unit ? SIZES[unit.toUpperCase()] : 1);
}

/** The seconds after the first moment that a value means, for a value of the column `time`. @param {string} text */
function timeOf(text) {
  if (!/^\d\d:\d\d/.test(text))
    return moment(text.length === 10 ? `${text}T00:00:00` : text.length === 16 ? `${text}:00` : text);
  return moment(`${new Date(D.start / 1000).toISOString().slice(0, 11)}${text.length === 5 ? `${text}:00` : text}`);
}

/** Whether a value of a column is what a token says, as a function. */
function same(of, token) {
  if (token.word?.toLowerCase() === "null") return (value) => value === null;
  if (of.type === "time") return (value) => value !== null && Math.abs(value - (timeOf(token.text) ?? NaN)) < 5e-7;
  const wanted = amount(of, token);
  if (/(error|api)(Code|Key)$/i.test(of.name) && of.type === "field" && Number.isNaN(wanted))
    throw new Error(`${of.name} is a number on this page`);
  const ignores = IGNORES_CASE.has(of.name);
  const text = ignores ? token.text.toLowerCase() : token.text;
  return (value) => {
    if (value === null) return false;
    if (typeof value === "number") return Math.abs(value - wanted) < 1e-9;
    return (
      (ignores ? value.toLowerCase() : String(value)) === text || (of.name === "broker" && value === `node ${text}`)
    );
  };
}

/** @param {string} text @returns {(i: number) => boolean} */
function compile(text) {
  const tokens = tokensOf(text);
  let at = 0;
  const word = () => (tokens[at]?.isQuoted ? undefined : (tokens[at]?.word || tokens[at]?.operator)?.toLowerCase());
  const take = (...words) => {
    if (!words.includes(word() ?? "")) return false;
    at++;
    return true;
  };
  const value = () => {
    if (!tokens[at] || tokens[at].operator) throw new Error("a value is missing");
    return tokens[at++];
  };
  /** @type {() => (i: number) => boolean} */
  const either = () => {
    const all = [both()];
    while (take("or", "||")) all.push(both());
    return all.length === 1 ? all[0] : (i) => all.some((test) => test(i));
  };
  const both = () => {
    const all = [one()];
    while (at < tokens.length && !["or", "||", ")"].includes(word() ?? "")) {
      take("and", "&&");
      all.push(one());
    }
    return all.length === 1 ? all[0] : (i) => all.every((test) => test(i));
  };
  /** @type {() => (i: number) => boolean} */
  const one = () => {
    if (take("not", "!")) {
      const test = one();
      return (i) => !test(i);
    }
    if (take("(")) {
      const test = either();
      if (!take(")")) throw new Error("a ) is missing");
      return test;
    }
    const isHas = take("has");
    const name = value();
    const of = name.isQuoted ? null : read(name.text);
    if (isHas) return named(of, name, (found) => found !== null);
    const operator = word() ?? "";
    const isIn = operator === "in" || (operator === "not" && tokens[at + 1]?.word?.toLowerCase() === "in");
    if (!isIn && !/^([=!<>]=|!?~|[<>])$/.test(operator)) return of ? named(of, name, Boolean) : searched(name.text);
    at += operator === "not" ? 2 : 1;
    if (!isIn) return named(of, name, comparison(of || {}, operator, value()));
    const tests = [];
    if (!take("(")) throw new Error("in needs ( )");
    while (!take(")")) {
      tests.push(same(of || {}, value()));
      take(",");
    }
    const isAmong = (found) => tests.some((test) => test(found));
    return named(of, name, operator === "in" ? isAmong : (found) => !isAmong(found));
  };
  const result = tokens.length ? either() : () => true;
  if (at < tokens.length) throw new Error(`not understood: ${tokens[at].text}`);
  return result;
}

/** @param {any} of @param {any} name @param {(value: any) => boolean} test */
function named(of, name, test) {
  if (!of) throw new Error(`no column ${name.text}: ${R.columns.map((spec) => spec.name).join(", ")}`);
  return (i) => of.of(i).some(test);
}

/** @param {any} of @param {string} operator @param {any} token @returns {(value: any) => boolean} */
function comparison(of, operator, token) {
  const equal = same(of, token);
  if (operator === "==") return equal;
  if (operator === "!=") return (value) => !equal(value);
  if (operator.endsWith("~")) {
    const [, ignores, pattern] = token.text.match(/^(\(\?i\))?(.*)$/s) || [];
    const matches = new RegExp(pattern, ignores ? "i" : "");
    return (value) => value !== null && matches.test(String(value)) === (operator === "~");
  }
  const wanted = of.type === "time" ? (timeOf(token.text) ?? NaN) : amount(of, token);
  if (Number.isNaN(wanted)) throw new Error(`${of.name} ${operator} needs a number, such as 50ms`);
  const signs = { "<": [-1], "<=": [-1, 0], ">": [1], ">=": [0, 1] }[operator];
  return (value) => typeof value === "number" && signs.includes(Math.sign(value - wanted));
}

/** Search the words of all columns. @param {string} text */
function searched(text) {
  const low = text.toLowerCase();
  const hits = Object.entries(R.words).map(([name, words]) => {
    const has = words.map((word) => String(word).toLowerCase().includes(low));
    return [R.values[name], has];
  });
  return (i) => hits.some(([numbers, has]) => has[numbers[i]]);
}

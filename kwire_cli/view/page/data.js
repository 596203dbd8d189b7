// The data of the page: its rows in columns, names, times, and details that are unpacked when they are wanted.

const D = JSON.parse($("#data").textContent);
const R = D.rows || { count: 0, columns: [], values: {}, words: {} };
const COUNT = R.count;
const LENGTH = Math.max((D.length || 0) / 1e6, 1e-6);
const SCALE = { _us: 1e-6, _ms: 1e-3 };

/** The values of a column as the page has them: seconds, numbers, or numbers of words. @param {string} name */
function values(name) {
  const found = R.values[name];
  if (!found) return new Array(COUNT).fill(null);
  const scale = name === "time" ? 1e-6 : SCALE[name.slice(-3)];
  return scale ? found.map((value) => (value === null ? null : value * scale)) : found;
}

/** A column: `read` gives the value of a row, `text` what is shown of it. */
function columnOf(spec) {
  const raw = values(spec.name);
  const words = R.words[spec.name];
  const read = words ? (i) => words[raw[i]] : (i) => raw[i];
  const shown = {
    word: (value) => value,
    words: (value) => value.join(", "),
    time: (value) => clock(value, innerWidth < 720 ? 1 : 4),
    duration: span,
    bytes: (value) => (value === null ? "–" : number(value)),
    count: (value) => (value === null ? "" : number(value)),
    id: (value) => value ?? "",
  }[spec.type];
  return { ...spec, raw, read, text: (i) => String(shown(read(i))) };
}
const COLUMNS = new Map(R.columns.map((spec) => [spec.name, columnOf(spec)]));
const ABSENT = { raw: new Array(COUNT).fill(0), read: () => "", text: () => "" };
const column = (name) => COLUMNS.get(name) || ABSENT;

const TIME = COLUMNS.get("time")?.raw || new Array(COUNT).fill(null);
const LATENCY = values("latency_us");
const SERVED = COLUMNS.has("served_us") ? values("served_us") : LATENCY;
const REQUEST = values("request");
const RESPONSE = values("response");
const WAITS = values("is_wait");
const API = column("api").raw;
const APIS = R.words.api || ["frame"];
const CLIENT = column("client_id");
const BROKER = column("broker");
const ERRORS = column("errors");
const hasTime = D.start !== null && TIME.some((at) => at !== null);
const isFailed = (i) => ERRORS.read(i).length > 0;
const isSilent = (i) => RESPONSE[i] === null && REQUEST[i] !== null && R.values.expects_answer?.[i] !== false;

const FAMILIES = {
  produce: "Produce",
  fetch: "Fetch ListOffsets ShareFetch ShareAcknowledge OffsetForLeaderEpoch FetchSnapshot",
  txn: "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit",
  group:
    "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit OffsetFetch FindCoordinator ConsumerGroupHeartbeat " +
    "ShareGroupHeartbeat StreamsGroupHeartbeat",
};
/** The family of an api, which has a colour. @param {string} api */
const familyOf = (api) => Object.entries(FAMILIES).find(([, apis]) => apis.split(" ").includes(api))?.[0] || "meta";
const FAMILY = APIS.map(familyOf);

/** What brokers took to serve rows, without calls that wait by design. @param {number[]} rows */
const takenBy = (rows) => rows.filter((i) => SERVED[i] !== null && !WAITS[i]).map((i) => SERVED[i]);

/** What each api usually takes: the median. */
const USUAL = APIS.map((_, api) => {
  const taken = SERVED.filter((one, i) => one !== null && API[i] === api);
  return quantile(taken, 0.5) || 0;
});
const isSlow = (i) => !WAITS[i] && SERVED[i] > Math.max(0.2, 8 * USUAL[API[i]]);

/** The time of day of a moment in seconds after the first one. @param {number | null} at @param {number} digits */
function clock(at, digits = 3) {
  if (at === null || D.start === null) return "";
  const micro = D.start + Math.round(at * 1e6);
  const base = new Date(Math.floor(micro / 1000)).toISOString().slice(11, 19);
  return digits
    ? `${base}.${String(micro % 1e6)
        .padStart(6, "0")
        .slice(0, digits)}`
    : base;
}

/** Seconds after the first moment of a time as text; null if there is none. @param {string | null} text */
function moment(text) {
  if (!text || D.start === null) return null;
  const [, whole, fraction] = text.match(/^([^.Z]+)\.?(\d*)/) || [];
  return (Date.parse(`${whole}Z`) * 1000 + Number((fraction || "").padEnd(6, "0").slice(0, 6)) - D.start) / 1e6;
}

/** The row of a frame. @param {number | null} frame @param {string | null} [capture] */
function rowOf(frame, capture) {
  if (frame === null || frame === undefined) return null;
  const points = COLUMNS.get("capture_point");
  const isThere = (i) => !capture || !points || points.read(i) === capture;
  const found = REQUEST.findIndex((one, i) => (one === frame || RESPONSE[i] === frame) && isThere(i));
  return found < 0 ? null : found;
}

/** The details of a row: of a request, then of a response. @param {number} i @param {string} side */
const detailAt = (i, side) => (R.values[side] ? R.values[side][i] : null);

const CHUNK = 64;
const chunks = new Map();

/** Unpack the details with a number. @param {number | null} at */
async function detail(at) {
  if (at === null || at === undefined) return null;
  const key = Math.floor(at / CHUNK);
  if (!chunks.has(key)) {
    const packed = raw(JSON.parse($(`#chunk${key}`).textContent));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    chunks.set(key, new Response(stream).json());
  }
  return (await chunks.get(key))?.[at % CHUNK];
}
const raw = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

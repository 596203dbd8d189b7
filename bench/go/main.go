// franz-go's kmsg reader of record batches, one goroutine. Speaks as java/Records.java does.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type sums struct{ count, offsets, keys, values, headers int64 }

func pass(data []byte, crc bool) (s sums) {
	for len(data) >= 17 {
		size := 12 + int(binary.BigEndian.Uint32(data[8:]))
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(data[:size]); err != nil {
			panic(err)
		}
		if crc && crc32.Checksum(data[21:size], castagnoli) != uint32(batch.CRC) {
			panic("crc")
		}
		raw := batch.Records
		for i := int32(0); i < batch.NumRecords; i++ {
			length, prefix := binary.Varint(raw)
			end := prefix + int(length)
			var record kmsg.Record
			if err := record.ReadFrom(raw[:end]); err != nil {
				panic(err)
			}
			raw = raw[end:]
			s.count++
			s.offsets += batch.FirstOffset + int64(record.OffsetDelta)
			s.keys += int64(len(record.Key))
			s.values += int64(len(record.Value))
			for _, header := range record.Headers {
				s.headers += int64(len(header.Key) + len(header.Value))
			}
		}
		data = data[size:]
	}
	return
}

func main() {
	files := map[string][]byte{}
	fmt.Println("go")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var name string
		var crc int
		var seconds float64
		if _, err := fmt.Sscan(in.Text(), &name, &crc, &seconds); err != nil {
			panic(err)
		}
		if files[name] == nil {
			data, err := os.ReadFile(name)
			if err != nil {
				panic(err)
			}
			files[name] = data
		}
		start, n := time.Now(), 0
		var s sums
		for n == 0 || time.Since(start).Seconds() < seconds {
			s = pass(files[name], crc == 1)
			n++
		}
		nanoseconds := float64(time.Since(start).Nanoseconds()) / float64(n) / float64(s.count)
		fmt.Printf("%.3f %d %d %d %d %d\n", nanoseconds, s.count, s.offsets, s.keys, s.values, s.headers)
	}
}

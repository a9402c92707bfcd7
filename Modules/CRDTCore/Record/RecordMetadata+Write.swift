extension RecordMetadata {
  func encode(base reading: ClockReading, tables: inout RecordTables) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    let parts = parts
    out.write(parts.rawValue)
    out.writeVarint(vector.elements.count)
    for element in vector.elements {
      out.writeVarint(UInt64(tables.sites.intern(element.writer.site)))
      out.writeTime(element.reading, from: reading)
      out.writeAge(of: element.writer.birth, at: element.reading)
    }
    out.writeVarint(base.writer)
    out.writeVarint(ownWriter)
    if let bareLife {
      out.writeVarint(UInt64(tables.sites.intern(bareLife.site)))
      out.writeTime(bareLife.reading, from: reading)
    } else if parts.contains(.life) {
      write(life, &out)
    }
    if parts.contains(.floor) {
      out.writeVarint(UInt64(tables.sites.intern(floor.site)))
      out.writeTime(floor.reading, from: reading)
    }
    if parts.contains(.marks) { writeMarks(&out) }
    if parts.contains(.counters) { writeCounters(reading, &out) }
    if parts.contains(.hidden) {
      out.writeVarint(hidden.count)
      for item in hidden {
        write(item.path, &out, &tables)
        write(mark(item.register.stamp, item.register.birth), &out)
        write(item.register.content, reading, &out)
      }
    }
    if parts.contains(.floors) {
      out.writeVarint(floors.count)
      for item in floors {
        write(item.path, &out, &tables)
        write(mark(item.floor.stamp, item.floor.birth), &out)
      }
    }
    return out.bytes
  }

  private func writeMarks(_ out: inout ByteWriter) {
    out.writeVarint(marks.count)
    var previous = -1
    for (entry, mark) in marks {
      // The distance from the previous entry and the writer share one number, which usually takes one byte.
      out.writeVarint((entry - previous - 1) * (noRegister + 1) + mark.writer)
      previous = entry
      writeAge(mark, &out)
    }
  }

  private func writeCounters(_ base: ClockReading, _ out: inout ByteWriter) {
    out.writeVarint(counters.count)
    var previous = -1
    for counter in counters {
      out.writeVarint(counter.entry - previous - 1)
      previous = counter.entry
      write(counter.state, base, &out)
    }
  }

  private func write(_ mark: Mark, _ out: inout ByteWriter) {
    out.writeVarint(mark.writer)
    writeAge(mark, &out)
  }

  private func writeAge(_ mark: Mark, _ out: inout ByteWriter) {
    guard mark.writer > 0, mark.writer != noRegister else { return }
    out.writeAge(of: mark.reading, at: vector.elements[mark.writer - 1].reading)
  }

  private func write(_ state: CounterState, _ base: ClockReading, _ out: inout ByteWriter) {
    out.writeSignedVarint(state.base)
    out.writeVarint(state.contributions.count)
    for contribution in state.contributions {
      let writer = contribution.writer
      let mark = Mark(writer: index(of: writer), reading: contribution.reading)
      write(mark, &out)
      if mark.writer == 0 {
        // A writer that the vector does not list is identified by the place of its site's newest one.
        out.writeVarint(vector.newestPlace(of: writer.site))
        out.writeTime(contribution.reading, from: base)
        out.writeAge(of: writer.birth, at: contribution.reading)
      }
      out.writeSignedVarint(contribution.amount)
    }
  }

  private func write(_ content: Register.Content, _ base: ClockReading, _ out: inout ByteWriter) {
    switch content {
    case .removed(let overDefault): out.write(overDefault ? 1 as UInt8 : 0)
    case .value(let value):
      out.write(2 as UInt8)
      ValueCodec.write(value, to: &out)
    case .counter(let state):
      out.write(3 as UInt8)
      write(state, base, &out)
    case .map: out.write(4 as UInt8)
    }
  }

  private func write(_ path: [TextKey], _ out: inout ByteWriter, _ tables: inout RecordTables) {
    out.writeVarint(path.count)
    for (depth, key) in path.enumerated() {
      if let id = tables.keys.intern(key, nested: depth > 0) {
        out.writeVarint(Int(id) + 1)
      } else {
        out.writeVarint(0)
        out.writeString(key.text)
      }
    }
  }
}

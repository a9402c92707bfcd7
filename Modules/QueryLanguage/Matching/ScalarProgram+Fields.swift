import CRDTCore

/// Reads fields and variables, and follows paths into arrays.
extension ScalarProgram {
  func field(
    _ node: ScalarNode, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let field = fields[Int(node.operand)]
    if field.isWhole { return scratch.scalar(of: try field.value(document.id, document.record, keys)) }
    guard let value = document.record.value(at: field.path) else { return .missing }
    let scalar = try scalar(of: value, document, &scratch)
    if field.rest.isEmpty { return scalar }
    return try navigate(scalar, field.rest, document, &scratch)
  }

  func identifier(
    _ node: ScalarNode, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let rest = fields[Int(node.operand)].rest
    if DocumentID.string(in: document.id) != nil {
      return rest.isEmpty ? Scalar(.string, 1..<document.id.byteCount, in: .id) : .missing
    }
    do throws(CodecError) {
      return scratch.scalar(of: try DocumentID.decode(document.id).value(at: rest))
    } catch {
      throw .unreadable(error)
    }
  }

  func variable(
    _ node: ScalarNode, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    let slot = Int(node.operand)
    guard scratch.variables.indices.contains(slot) else { return .missing }
    return try navigate(scratch.variables[slot], variablePaths[Int(node.keyID)], document, &scratch)
  }

  /// A value of the record, referred to in place.
  func scalar(
    of value: borrowing ValueRef, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    switch value.kind {
    case .null: return .null
    case .bool: return Scalar(value.bool)
    case .int: return Scalar(value.int)
    case .counter: return Scalar(value.int, kind: .counter)
    case .double: return Scalar(value.double)
    case .string: return Scalar(.string, document.range(of: value.bytes), in: .record)
    case .bytes: return Scalar(.bytes, document.range(of: value.bytes), in: .record)
    case .array: return Scalar(.array, document.range(of: value.bytes), in: .record)
    case .map, .attachment:
      do throws(CodecError) {
        return scratch.scalar(of: try value.materialize(keys))
      } catch {
        throw .unreadable(error)
      }
    }
  }

  private func navigate(
    _ scalar: Scalar, _ path: FieldPath, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    var current = scalar
    for index in path.indices {
      guard !current.isBoxed else {
        let value = try value(of: current, document, scratch)
        return scratch.scalar(of: value?.value(at: path[index...]))
      }
      guard current.kind == .array, case .index(let wanted) = path[index], wanted >= 0 else {
        return .missing
      }
      current = try element(wanted, of: current, document, &scratch)
    }
    return current
  }

  private func element(
    _ wanted: Int, of array: Scalar, _ document: borrowing DocumentView, _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Scalar {
    do throws(CodecError) {
      guard var elements = try EncodedArray(array, document), wanted < elements.count else { return .missing }
      for _ in 0..<wanted { try elements.skip() }
      return try elements.next(&scratch)
    } catch {
      throw .unreadable(error)
    }
  }
}

extension DocumentView {
  /// The range of the record that contains these bytes.
  fileprivate func range(of bytes: RawSpan) -> Range<Int> {
    record.bytes.byteOffsets(of: bytes) ?? 0..<0
  }
}

/// An array of the record in its canonical encoding, read in place.
struct EncodedArray: ~Escapable {
  private var reader: ByteReader
  /// The offset of the encoding in the record.
  private let start: Int
  let count: Int

  /// - Returns: `nil` for anything other than an array of the record.
  @_lifetime(copy document)
  init?(_ array: Scalar, _ document: borrowing DocumentView) throws(CodecError) {
    guard array.kind == .array, array.place == .record else { return nil }
    let bytes = document.record.bytes.extracting(array.range)
    var reader = ByteReader(bytes)
    guard ValueCodec.Tag(rawValue: try reader.readByte()) == .array else {
      throw reader.failure(.malformed, "an array is none")
    }
    count = try reader.readCount()
    self.reader = reader
    start = array.range.lowerBound
  }

  mutating func skip() throws(CodecError) { try ValueCodec.skip(&reader) }

  /// The next element, referred to in place.
  mutating func next(_ scratch: inout ScalarScratch) throws(CodecError) -> Scalar {
    let first = reader.offset
    guard let tag = ValueCodec.Tag(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "a value has an unknown type")
    }
    switch tag {
    case .null: return .null
    case .no: return Scalar(false)
    case .yes: return Scalar(true)
    case .int: return Scalar(try reader.readSignedVarint())
    case .counter: return Scalar(try reader.readSignedVarint(), kind: .counter)
    case .double: return Scalar(try ValueCodec.readDouble(&reader))
    case .string, .bytes:
      let count = try reader.readCount()
      let begin = start + reader.offset
      _ = try reader.readBytes(count)
      return Scalar(tag == .string ? .string : .bytes, begin..<begin + count, in: .record)
    case .array:
      reader = ByteReader(reader.bytes, offset: first)
      try skip()
      return Scalar(.array, start + first..<start + reader.offset, in: .record)
    case .map, .attachment:
      reader = ByteReader(reader.bytes, offset: first)
      return scratch.scalar(of: try ValueCodec.read(&reader))
    }
  }
}

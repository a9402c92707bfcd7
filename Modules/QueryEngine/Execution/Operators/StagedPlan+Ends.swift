import CRDTCore
import DocStore
import Failpoints

/// Finds the least and the greatest value of a field at the ends of an index.
extension StagedPlan {
  /// The one group of a query for the least and the greatest values of an index's first field.
  ///
  /// - Returns: `nil` where it asks for something else, or where the ends do not show the values.
  func groupOfEnds(
    _ grouping: Grouping, in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> GroupTable? {
    guard let scan = endsScan(grouping), let collection = try source.collection(inputs[0].plan.collection)
    else { return nil }
    var values: [Value]?
    try source.withIndex(scan.index, of: collection) { reader in values = try scan.ends(reader) }
    guard let values else { return nil }
    var groups = GroupTable(grouping, context)
    for value in values { try groups.add([value]) }
    return groups
  }

  private func endsScan(_ grouping: Grouping) -> IndexScan? {
    guard grouping.keys.isEmpty, inputs.count == 1, filter == nil, inputs[0].plan.filter == nil,
      inputs[0].plan.isCovering, slotCount == 1, case .index(let scan) = inputs[0].plan.access,
      scan.index.definition.fields[0].part == .value,
      inputs[0].paths == [scan.index.definition.fields[0].path.map(PathComponent.key)],
      grouping.calls.allSatisfy({ $0.isOfEnds })
    else { return nil }
    return scan
  }
}

extension Grouping.Call {
  fileprivate var isOfEnds: Bool {
    guard operand == .path([.index(0)]) else { return false }
    return switch aggregate {
    case .min, .max, .mid: true
    case .count, .sum, .avg, .median: false
    }
  }
}

extension IndexScan {
  /// The values of the first and the last row that are neither NULL nor MISSING.
  ///
  /// Among equal numbers the integer is the result, so that rows are read until one is found.
  ///
  /// - Returns: `nil` where a row does not contain its value.
  fileprivate func ends(_ reader: borrowing IndexReader) throws -> [Value]? {
    let fields = index.definition.fields
    let known = ValueSet.range(.beginning, .before(.null))
    guard let span = IndexSpan.spans(of: known, descending: fields[0].isDescending).first else { return nil }
    var ends: [Value] = []
    var isWhole = true
    for reversed in [false, !QueryDefect.endsTurned.isPlanted] {
      var end: Value?
      try reader.forEachRow(from: span.from, to: span.to, reversed: reversed) { row in
        var values = Frame(repeating: nil, count: fields.count)
        isWhole = isWhole && row.read(fields, into: &values)
        guard isWhole, let value = values[0] else { return false }
        if let end, SortOrder.compare(end, value) != 0 { return false }
        end = value
        ends.append(value)
        switch value {
        case .double: return true
        case .null, .bool, .int, .string, .bytes, .counter, .array, .map, .attachment, .decimal: return false
        }
      }
      guard isWhole else { return nil }
    }
    return ends
  }
}

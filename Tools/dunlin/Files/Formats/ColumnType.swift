import ArgumentParser
import CRDTCore
import Foundation

/// What the values of a column are.
enum ColumnType: String, CaseIterable, Sendable {
  case string, int, double, bool, counter
  /// Bytes as base64.
  case bytes
  /// JSON text: arrays, maps, and values of several types.
  case json

  /// The value of a cell.
  ///
  /// - Returns: `nil` where there is none: an empty cell, for text and bytes one without quotes.
  /// - Throws: A `ToolError` that says what the cell is not, and never what stands in it.
  func value(of cell: SeparatedCell, interpretsTags: Bool = true) throws -> Value? {
    switch self {
    case .string: return cell.isMissing ? nil : .string(cell.text)
    case .bytes:
      if cell.isMissing { return nil }
      guard let data = Data(base64Encoded: cell.text) else { throw ToolError("the value is no base64") }
      return .bytes(Array(data))
    case .int, .double, .bool, .counter, .json: break
    }
    let text = cell.text.trimmingCharacters(in: .whitespaces)
    if text.isEmpty { return nil }
    switch self {
    case .string, .bytes: return nil
    case .int:
      guard let number = Int64(text) else { throw ToolError("the value is no integer of 64 bits") }
      return .int(number)
    case .counter:
      guard let number = Int64(text) else { throw ToolError("the value is no integer of 64 bits") }
      return .counter(number)
    case .double:
      guard let number = Double(text) else { throw ToolError("the value is no number") }
      return .double(number)
    case .bool:
      switch text.lowercased() {
      case "true", "1": return .bool(true)
      case "false", "0": return .bool(false)
      default: throw ToolError("the value is neither true nor false")
      }
    case .json:
      do {
        return try JSON.parse(text, options: .init(interpretsTags: interpretsTags))
      } catch {
        throw ToolError("the value is no JSON: \(error)")
      }
    }
  }
}

/// The types of columns as an argument says them: `name:int,price:double`.
struct ColumnTypes: ExpressibleByArgument, Sendable {
  var types: [ColumnName: ColumnType] = [:]

  init() {}

  init?(argument: String) {
    for part in Self.split(argument, at: ",") {
      let pieces = Self.split(part, at: ":")
      guard pieces.count > 1, let last = pieces.last, let type = ColumnType(rawValue: String(last)) else {
        return nil
      }
      let name = ColumnName(pieces.dropLast().joined(separator: ":"))
      guard types.updateValue(type, forKey: name) == nil else { return nil }
    }
  }

  /// The argument again, in the order of the columns; text types are left out, since text is the default.
  var argument: String {
    types.filter { $0.value != .string }.sorted { $0.key < $1.key }
      .map { "\($0.key.argument):\($0.value.rawValue)" }.joined(separator: ",")
  }

  /// Splits a text where `separator` stands without a backslash before it.
  private static func split(_ text: String, at separator: Unicode.Scalar) -> [String] {
    var parts = [String.UnicodeScalarView()]
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if scalar == separator, !isEscaped {
        parts.append(String.UnicodeScalarView())
        continue
      }
      isEscaped = scalar == "\\" && !isEscaped
      parts[parts.count - 1].append(scalar)
    }
    return parts.map { String($0) }
  }
}

import CRDTCore
import QueryEngine

/// The rows of an observed result as items of the caller's type, with a place for each row that does not fit.
struct TypedSlots<Item: Decodable & Sendable>: Sendable {
  private enum Slot: Sendable {
    case fit(Item)
    case unfit(DunlinUnfitRow)

    var isFit: Bool {
      switch self {
      case .fit: true
      case .unfit: false
      }
    }
  }

  private var slots: [Slot] = []

  /// The items of the rows that fit.
  private(set) var items: [Item] = []
  /// The rows that do not fit.
  private(set) var unfit: [DunlinUnfitRow] = []

  /// Decodes the next result.
  ///
  /// - Parameter diff: The next result's difference from the rows that these are.
  /// - Returns: The difference of the items; rows that do not fit are not there for it.
  /// - Throws: `runtime` for a row that cannot be read; then nothing changes.
  ///
  /// - Complexity: O(*n*) for *n* rows. Only rows that are new or have changed are decoded.
  mutating func apply(_ diff: DunlinDiff) throws(DunlinError) -> DunlinTypedDiff<Item> {
    let (old, oldItems) = (slots, items)
    slots = try diff.diff.applied(to: old) { row throws(DunlinError) in try Self.decode(row, diff.origin) }
    guard !unfit.isEmpty || slots.contains(where: { !$0.isFit }) else {
      items = fitItems
      return typed(diff, oldItems, diff.insertions, diff.deletions, diff.updates, diff.moves)
    }
    items = fitItems
    unfit = slots.compactMap { slot in
      switch slot {
      case .fit: nil
      case .unfit(let row): row
      }
    }
    let (oldPlaces, places) = (Self.places(old), Self.places(slots))
    // Where each row was in the old result.
    let origins = diff.diff.origins(of: old.count)
    var (insertions, deletions): ([Int], [Int]) = ([], diff.deletions.compactMap { oldPlaces[$0] })
    for (index, place) in places.enumerated() {
      let former = origins[index].flatMap { oldPlaces[$0] }
      if let place, former == nil { insertions.append(place) }
      if place == nil, let former { deletions.append(former) }
    }
    let updates = diff.updates.compactMap { index in
      origins[index].flatMap { oldPlaces[$0] } == nil ? nil : places[index]
    }
    let moves = diff.moves.compactMap { move -> DunlinLiveQueryMove? in
      guard let from = oldPlaces[move.from], let to = places[move.to] else { return nil }
      return DunlinLiveQueryMove(from: from, to: to)
    }
    return typed(diff, oldItems, insertions, deletions.sorted(), updates, moves)
  }

  private func typed(
    _ diff: DunlinDiff, _ oldItems: [Item], _ insertions: [Int], _ deletions: [Int], _ updates: [Int],
    _ moves: [DunlinLiveQueryMove]
  ) -> DunlinTypedDiff<Item> {
    DunlinTypedDiff(
      isInitial: diff.isInitial, items: items, oldItems: oldItems, insertions: insertions,
      deletions: deletions, updates: updates, moves: moves, unfit: unfit)
  }

  private var fitItems: [Item] {
    slots.compactMap { slot in
      switch slot {
      case .fit(let item): item
      case .unfit: nil
      }
    }
  }

  /// The index among the items of each row that fits.
  private static func places(_ slots: [Slot]) -> [Int?] {
    var next = 0
    return slots.map { slot in
      guard slot.isFit else { return nil }
      defer { next += 1 }
      return next
    }
  }

  private static func decode(_ row: Row, _ origin: RowOrigin) throws(DunlinError) -> Slot {
    let fields: [TextKey: Value]
    do {
      fields = try row.values()
    } catch {
      throw DunlinError(error)
    }
    do {
      return .fit(try ValueDecoding.decode(Item.self, from: fields, of: row.id, origin))
    } catch {
      return .unfit(DunlinUnfitRow(fields, row.id, error))
    }
  }
}

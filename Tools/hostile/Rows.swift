/// All rows there are.
enum Rows {
  static let all: [Row] = [
    EmptyDenseChunks.row, ManyDeltas.row, PingFlood.row, PartialFrames.row,
  ]

  static let controls: [Row] = [Controls.idle, Controls.held]

  static func named(_ name: String) -> Row? { (all + controls).first { $0.name == name } }
}

// SPDX-License-Identifier: BSD-3-Clause
//
// draw_report: pictures of what the tools print, for the documents. docs/pictures/draw.sh calls it.
//
//	draw_report timeline TRACE MICROSECONDS	a part of a file that oshrun --trace wrote, from its middle on
//	draw_report race REPORT FOLDER		a report of oshrun --check=race, with the lines of its first race from
//						the sources in FOLDER
//
// It reads a line of these files at a time, since each event and each side of a race has a line of its own.
#include <pgas/pgas_svg.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using pgas::svg::picture;
using lines = std::vector<std::string>;

constexpr double kWidth = 820, kMargin = 16, kLine = 18;
constexpr const char *kInk = "#222", *kPale = "#666";

lines read_lines(const std::string &path)
{
	std::ifstream source(path);
	lines all;
	for (std::string line; std::getline(source, line);)
		all.push_back(line);
	if (all.empty()) {
		fprintf(stderr, "draw_report: %s cannot be read, or is empty\n", path.c_str());
		exit(1);
	}
	return all;
}

void print(const picture &drawing, double height)
{
	const std::string text = drawing.document(
		{kWidth, height, {{"font-family", "sans-serif"}, {"font-size", 12}, {"fill", kInk}}, "#fff"});
	fputs(text.c_str(), stdout);
}

// --- a timeline ------------------------------------------------------------------------------------------------------

constexpr double kNames = 60, kRow = 46, kBar = 20, kChartTop = 66;
constexpr const char *kCallColour = "#2f6db3", *kWaitColour = "#cfdcec", *kArrowColour = "#c0501c";

struct event {
	char phase;
	int pe;
	uint64_t id;
	double begin, end; // microseconds
	std::string name;
};

// What follows "KEY": in an event, up to the end of the line.
const char *member(const std::string &line, const char *key)
{
	const std::string quoted = std::string("\"") + key + "\":";
	const size_t pos = line.find(quoted);
	return pos == std::string::npos ? nullptr : line.c_str() + pos + quoted.size();
}

double number_of(const std::string &line, const char *key)
{
	const char *text = member(line, key);
	return text ? strtod(text, nullptr) : 0;
}

std::vector<event> read_events(const std::string &path)
{
	std::vector<event> all;
	for (const std::string &line : read_lines(path)) {
		const char *phase = member(line, "ph"), *name = member(line, "name");
		if (!phase || !name || !member(line, "ts") || !strchr("Xsf", phase[1]))
			continue;
		const double begin = number_of(line, "ts");
		all.push_back({phase[1], static_cast<int>(number_of(line, "pid")),
			       static_cast<uint64_t>(number_of(line, "id")), begin, begin + number_of(line, "dur"),
			       std::string(name + 1, strcspn(name + 1, "\""))});
	}
	return all;
}

bool is_wait(const std::string &name)
{
	for (const char *part : {"wait", "barrier", "sync", "quiet"})
		if (name.find(part) != std::string::npos)
			return true;
	return false;
}

// Where the picture begins: at the first call of PE 0 in the second half that waits for nothing.
double beginning(const std::vector<event> &all, double length)
{
	std::vector<double> times;
	for (const event &e : all)
		times.push_back(e.begin);
	std::ranges::sort(times);
	double first = times.empty() ? 0 : times.back();
	for (const event &e : all)
		if (e.pe == 0 && e.phase == 'X' && !is_wait(e.name) && e.begin >= times[times.size() / 2])
			first = std::min(first, e.begin);
	return first - length / 50;
}

class timeline {
public:
	timeline(std::vector<event> all, double length)
		: all_(std::move(all)), begin_(beginning(all_, length)), length_(length)
	{
	}

	void draw()
	{
		int last = 0;
		for (const event &e : all_)
			last = std::max(last, e.pe);
		const double bottom = kChartTop + kRow * (last + 1);
		out_.text(kMargin, 22, "What each PE did: a part of the timeline of oshrun --trace",
			  {{"font-size", 15}, {"font-weight", "bold"}});
		draw_legend();
		draw_axis(bottom);
		for (int pe = 0; pe <= last; pe++)
			out_.text(kMargin, y_of(pe) + 15, "PE " + std::to_string(pe));
		for (const event &e : all_)
			if (e.phase == 'X' && e.end > begin_ && e.begin < begin_ + length_)
				draw_call(e);
		draw_arrows();
		print(out_, bottom + 34);
	}

private:
	double x_of(double us) const
	{
		const double share = std::clamp((us - begin_) / length_, 0.0, 1.0);
		return kNames + share * (kWidth - kMargin - kNames);
	}
	static double y_of(int pe) { return kChartTop + 12 + kRow * pe; }
	bool is_inside(double us) const { return us >= begin_ && us <= begin_ + length_; }

	void draw_legend()
	{
		out_.rect(kMargin, 36, 12, 12, {{"fill", kCallColour}});
		out_.text(kMargin + 18, 46, "a call that moves data");
		out_.rect(kMargin + 180, 36, 12, 12, {{"fill", kWaitColour}});
		out_.text(kMargin + 198, 46, "a call that waits");
		draw_arrow(kMargin + 320, 42, kMargin + 350, 42);
		out_.text(kMargin + 358, 46, "the signal that ended the wait");
	}

	void draw_axis(double bottom)
	{
		const double step = length_ > 50 ? 10 : length_ > 20 ? 5 : length_ > 8 ? 2 : 1;
		for (double us = 0; us <= length_; us += step) {
			const double x = x_of(begin_ + us);
			out_.line(x, kChartTop, x, bottom, "#e4e4e4");
			out_.text(x, bottom + 18, pgas::svg::number(us) + " us",
				  {{"text-anchor", us + step > length_ ? "end" : "middle"}, {"fill", kPale}});
		}
	}

	void draw_call(const event &e)
	{
		const double left = x_of(e.begin), width = std::max(1.5, x_of(e.end) - left);
		const bool waits = is_wait(e.name);
		out_.rect(left, y_of(e.pe), width, kBar, {{"fill", waits ? kWaitColour : kCallColour}, {"rx", 2}},
			  e.name);
		if (width > 7.5 * static_cast<double>(e.name.size()))
			out_.text(left + 6, y_of(e.pe) + 14, e.name,
				  {{"font-size", 11}, {"fill", waits ? kInk : "#fff"}});
	}

	void draw_arrows()
	{
		std::map<uint64_t, const event *> sent;
		for (const event &e : all_)
			if (e.phase == 's')
				sent[e.id] = &e;
		for (const event &e : all_) {
			const auto it = e.phase == 'f' ? sent.find(e.id) : sent.end();
			if (it == sent.end() || !is_inside(it->second->begin) || !is_inside(e.begin))
				continue;
			const bool is_down = e.pe > it->second->pe;
			draw_arrow(x_of(it->second->begin), y_of(it->second->pe) + (is_down ? kBar : 0), x_of(e.begin),
				   y_of(e.pe) + (is_down ? 0 : kBar));
		}
	}

	void draw_arrow(double x1, double y1, double x2, double y2)
	{
		const double dx = x2 - x1, dy = y2 - y1, len = std::max(1.0, std::hypot(dx, dy));
		const double ux = 6 * dx / len, uy = 6 * dy / len;
		out_.polyline({{x1, y1}, {x2, y2}}, kArrowColour, {{"stroke-width", 1.4}});
		out_.polyline({{x2 - ux - uy / 2, y2 - uy + ux / 2}, {x2, y2}, {x2 - ux + uy / 2, y2 - uy - ux / 2}},
			      kArrowColour, {{"stroke-width", 1.4}});
	}

	std::vector<event> all_;
	double begin_, length_;
	picture out_;
};

// --- a race ----------------------------------------------------------------------------------------------------------

constexpr const char *kSideColours[2] = {"#f9d9c6", "#cfe0f5"};
constexpr const char *kMono = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

struct side {
	size_t report_line;
	std::string file;
	size_t line;
};

// The two sides of the first race: "  PE 0 writes: shmem_long_put in missing_fence at races_order.c:9".
std::vector<side> sides_of(const lines &report)
{
	std::vector<side> found;
	for (size_t i = 0; i < report.size() && found.size() < 2; i++) {
		const size_t begin = report[i].rfind(" at "), colon = report[i].rfind(':');
		if (report[i].starts_with("  PE ") && begin != std::string::npos && colon > begin)
			found.push_back({i, report[i].substr(begin + 4, colon - begin - 4),
					 strtoul(report[i].c_str() + colon + 1, nullptr, 10)});
	}
	return found;
}

std::string with_blanks(const std::string &line)
{
	std::string out;
	for (const char c : line)
		c == '\t' ? out.append(4, ' ') : out.append(1, c);
	return out;
}

class race_picture {
public:
	race_picture(lines report, const std::string &folder) : report_(std::move(report)), sides_(sides_of(report_))
	{
		if (sides_.size() == 2 && sides_[0].file == sides_[1].file)
			source_ = read_lines(folder + "/" + sides_[0].file);
	}

	int draw()
	{
		if (source_.empty() || most_line() > source_.size() || least_line() < 1) {
			fputs("draw_report: the first race has no two places in one file\n", stderr);
			return 1;
		}
		out_.text(kMargin, 22, "A race, and what oshrun --check=race says of it",
			  {{"font-size", 15}, {"font-weight", "bold"}});
		y_ = 48;
		out_.text(kMargin, y_, sides_[0].file, {{"fill", kPale}});
		draw_source();
		y_ += kLine / 2;
		draw_report();
		print(out_, y_ + 8);
		return 0;
	}

private:
	size_t least_line() const { return std::min(sides_[0].line, sides_[1].line); }
	size_t most_line() const { return std::max(sides_[0].line, sides_[1].line); }

	// The function that has both places, or what fits of it.
	void draw_source()
	{
		size_t first = least_line(), last = most_line();
		while (first > 1 && least_line() - first < 8 && source_[first - 1] != "{")
			first--;
		while (last < source_.size() && last - most_line() < 8 && source_[last - 1] != "}")
			last++;
		for (size_t line = first > 1 ? first - 1 : first; line <= last; line++) {
			const char *colour = nullptr;
			for (size_t k = 0; k < 2; k++)
				colour = sides_[k].line == line ? kSideColours[k] : colour;
			std::string number = std::to_string(line);
			number.insert(0, 4 - std::min<size_t>(4, number.size()), ' ');
			draw_line(number + "  " + with_blanks(source_[line - 1]), colour);
		}
	}

	void draw_report()
	{
		for (size_t i = 0; i < report_.size(); i++) {
			const char *colour = nullptr;
			for (size_t k = 0; k < 2; k++)
				colour = sides_[k].report_line == i ? kSideColours[k] : colour;
			draw_line(report_[i], colour);
		}
	}

	void draw_line(const std::string &text, const char *colour)
	{
		y_ += kLine;
		if (colour)
			out_.rect(kMargin, y_ - 13, kWidth - 2 * kMargin, kLine, {{"fill", colour}});
		out_.text(kMargin + 6, y_, text,
			  {{"font-family", kMono}, {"font-size", 12}, {"xml:space", "preserve"}});
	}

	lines report_, source_;
	std::vector<side> sides_;
	picture out_;
	double y_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
	const std::string what = argc == 4 ? argv[1] : "";
	if (what == "race")
		return race_picture(read_lines(argv[2]), argv[3]).draw();
	const double length = what == "timeline" ? strtod(argv[3], nullptr) : 0;
	if (!(length > 0)) {
		fputs("usage: draw_report timeline TRACE MICROSECONDS | draw_report race REPORT FOLDER\n", stderr);
		return 2;
	}
	timeline(read_events(argv[2]), length).draw();
	return 0;
}
